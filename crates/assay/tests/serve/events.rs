//! Follows jobs with real clients, on a real server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use assay_testkit::{Account, Server, archive, example, wait_for, zip_folder};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::serve::{CARTPOLE, JOB_LIMIT, SLOW, STOP_LIMIT, assay, serve, shared_server};

/// Number of idle streams held by one process.
const STREAMS: usize = 5_000;
/// Maximum memory of an idle stream.
const MAX_STREAM_KIB: usize = 24;

/// An event: its id and its data.
type Event = (Option<u32>, Value);

/// A stream read with `curl -N`.
pub(crate) struct Curl {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Curl {
    pub(crate) fn follow(address: &str, key: &str, job: &str, last: Option<u32>) -> Self {
        let mut command = Command::new("curl");
        command.args(["--no-buffer", "--silent", "--max-time", &JOB_LIMIT.as_secs().to_string()]);
        command.args(["--header", &format!("Authorization: Bearer {key}")]);
        if let Some(last) = last {
            command.args(["--header", &format!("Last-Event-ID: {last}")]);
        }
        command.arg(format!("http://{address}/verify/{job}/events"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next event; `None` if the stream is closed.
    pub(crate) fn event(&mut self) -> Option<Event> {
        let mut id = None;
        loop {
            let line = self.lines.next()?.unwrap();
            if let Some(number) = line.strip_prefix("id: ") {
                id = Some(number.parse().unwrap());
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((id, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// Returns all further events.
    pub(crate) fn rest(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.event()).collect()
    }
}

impl Drop for Curl {
    fn drop(&mut self) {
        // It has usually ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn key(assay: &assay_testkit::Assay) -> String {
    std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap().trim().to_owned()
}

fn ids(events: &[Event]) -> Vec<u32> {
    events.iter().filter_map(|(id, _)| *id).collect()
}

#[test]
fn curl_follows_a_job_to_its_verdict() {
    let (server, Account { client, key, .. }) = shared_server("default");
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let job = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")]);
    let mut curl = Curl::follow(server.address(), &key, &job, Some(0));
    let events = curl.rest();
    // QUEUED, RUNNING, two episodes, JUDGING, COMPLETED.
    assert_eq!(ids(&events), [1, 2, 3, 4, 5, 6]);
    let (_, last) = events.last().unwrap();
    assert_eq!((&last["status"], &last["done"], &last["verdict"]), (&json!("COMPLETED"), &json!(true), &json!("SAFE")));
    assert!(events[..events.len() - 1].iter().all(|(_, data)| data["done"] == json!(false)));
    assert!(Curl::follow(server.address(), &key, &job, Some(6)).rest().is_empty(), "204: nothing more");
}

#[test]
fn python_clients_follow_a_job_to_its_verdict() {
    let (server, Account { client, key, .. }) = shared_server("default");
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let job = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")]);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let ran = Command::new(root.join("../../vendor/dev-venv/bin/python"))
        .args(["-B", "-s"])
        .arg(root.join("tests/serve/follow.py"))
        .args([&format!("http://{}", server.address()), &job])
        .env("KEY", &key)
        .output()
        .expect("vendor/dev-venv: run tools/setup --dev");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let told: [Value; 2] = serde_json::from_slice(&ran.stdout).unwrap();
    for told in told {
        assert_eq!((&told["ids"], &told["last"]["verdict"]), (&json!([1, 2, 3, 4, 5, 6]), &json!("SAFE")));
    }
}

#[test]
fn a_stream_continues_after_the_server_was_killed() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let job = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "12"), ("record", "none")]);
    let mut curl = Curl::follow(server.address(), &key(&assay), &job, Some(0));
    let mut told = Vec::new();
    // Some episodes have ended, and not all.
    while told.len() < 5 {
        told.extend(curl.event().expect("the stream goes on").0);
    }
    let killed = server.stop(Signal::KILL, STOP_LIMIT);
    told.extend(ids(&curl.rest()));
    assert!(!killed.stderr.contains("panicked"), "{}", killed.stderr);
    let (server, _) = serve(&assay);
    let had = *told.last().unwrap();
    let mut curl = Curl::follow(server.address(), &key(&assay), &job, Some(had));
    let rest = curl.rest();
    told.extend(ids(&rest));
    // QUEUED, RUNNING, twelve episodes, JUDGING, COMPLETED.
    assert_eq!(told, (1..=16).collect::<Vec<_>>(), "without a gap, without a repeat; {had} before the kill");
    assert_eq!(rest.last().unwrap().1["done"], json!(true));
}

#[test]
fn the_expected_end_is_about_right() {
    let assay = assay();
    let (_server, client) = serve(&assay);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let submit =
        |episodes| client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", episodes), ("record", "none")]);
    let first = submit("4");
    assert_eq!(client.job(&first).eta_s, None, "nothing was measured here yet");
    client.ended_job(&first, JOB_LIMIT);
    let (ahead, job) = (submit("32"), submit("16"));
    let asked = Instant::now();
    let known = wait_for("an expectation", JOB_LIMIT, || Some(client.job(&job)).filter(|job| job.eta_s.is_some()));
    assert_eq!(known.waiting_for.as_deref(), Some("a free lane"));
    let expected = known.eta_s.unwrap() + asked.elapsed().as_secs_f64();
    client.ended_job(&job, 2 * JOB_LIMIT);
    let took = asked.elapsed().as_secs_f64();
    // The tolerance covers other load on the machine; a wrong forecast deviates by more.
    assert!(expected > took / 4.0 && expected < took * 4.0, "expected {expected} s, took {took} s");
    client.ended_job(&ahead, JOB_LIMIT);
}

#[test]
fn a_browser_signs_in_and_follows() {
    let assay = assay();
    let page = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", page.local_addr().unwrap());
    let named = format!("browsers.origins={origin}");
    let server = assay.serve(&assay.path("data"), &["--lanes", "2", "--set", &named]);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let html = include_str!("follow.html")
        .replace("{base}", &format!("http://{}", server.address()))
        .replace("{key}", &key(&assay))
        .replace("{scenario}", CARTPOLE)
        .replace("{zip}", &BASE64_STANDARD.encode(zip));
    let profile = assay.path("chromium");
    let mut browser = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"])
        // No addresses other than those of this machine.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--remote-debugging-port=0", &origin])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromium: run tools/setup --dev");
    let told = answer_page(&page, &html);
    browser.kill().unwrap();
    browser.wait().unwrap();
    assert_eq!(told["error"], json!(null), "{told}");
    assert_eq!((&told["forged"], &told["last"]["verdict"]), (&json!(403), &json!("SAFE")), "{told}");
    assert_eq!(told["signed_out"], json!([204, 401]), "{told}");
    assert_eq!(told["cookie"], json!(""), "a script can't read it");
    // Progress events do not change the last id.
    let mut ids: Vec<u64> = told["ids"].as_array().unwrap().iter().filter_map(|id| id.as_str()?.parse().ok()).collect();
    ids.dedup();
    let first = ids[0];
    assert!(first < 6, "it was there before the end: {told}");
    assert_eq!(ids, (first..=6).collect::<Vec<_>>(), "{told}");
}

/// Serves the page until it reports its observations.
fn answer_page(listener: &TcpListener, html: &str) -> Value {
    let (sender, told) = std::sync::mpsc::channel();
    let (listener, html) = (listener.try_clone().unwrap(), html.to_owned());
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let mut text = String::new();
            let mut reader = BufReader::new(socket.try_clone().unwrap());
            let mut length = 0;
            while reader.read_line(&mut text).is_ok_and(|read| read > 2) {
                let line = text.lines().last().unwrap_or_default().to_lowercase();
                length = line.strip_prefix("content-length:").map_or(length, |n| n.trim().parse().unwrap());
            }
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                continue;
            }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
            let _ = write!(socket, "{head}Content-Length: {}\r\n\r\n{html}", html.len());
            if text.starts_with("POST /told") {
                return sender.send(serde_json::from_slice(&body).unwrap()).unwrap();
            }
        }
    });
    told.recv_timeout(JOB_LIMIT).expect("the page says what it saw")
}

#[test]
fn one_process_holds_5000_idle_streams() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let assay = assay();
    let more = ["--lanes", "1", "--set", "limits.account.streams=6000", "--set", "limits.rate.get_per_minute=100000"];
    let server = assay.serve(&assay.path("data"), &more);
    let (key, client) = (key(&assay), server.client(&key(&assay)));
    // Another job occupies the lane, so this one waits.
    let busy = client.verify(&archive(&[("policy.py", SLOW)]), &[("scenario", CARTPOLE), ("record", "none")]);
    wait_for("the lane to be busy", JOB_LIMIT, || client.job(&busy).started_at);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let job = client.verify(&zip, &[("scenario", CARTPOLE), ("record", "none")]);
    let request = format!(
        "GET /verify/{job}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n"
    );
    let before = resident_kib(&server);
    let mut streams: Vec<TcpStream> = Vec::with_capacity(STREAMS);
    for _ in 0..STREAMS {
        let mut socket = TcpStream::connect(server.address()).unwrap();
        socket.set_read_timeout(Some(JOB_LIMIT)).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        streams.push(socket);
    }
    let mut first = vec![String::new(); STREAMS];
    for (socket, text) in streams.iter_mut().zip(&mut first) {
        while !text.contains("\"QUEUED\"") {
            let mut buffer = [0; 2048];
            let read = socket.read(&mut buffer).unwrap();
            assert!(read > 0, "a stream ended: {text}");
            text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        }
    }
    let each = (resident_kib(&server) - before) / STREAMS;
    assert!(each <= MAX_STREAM_KIB, "{each} KiB a stream");
    assert_eq!(client.post(&format!("/verify/{job}/cancel")).status, 200);
    for (socket, text) in streams.iter_mut().zip(&mut first) {
        socket.read_to_string(text).unwrap();
        assert!(text.contains("\"CANCELLED\",\"done\":true"), "{text}");
    }
    drop(streams);
    assert_eq!(client.post(&format!("/verify/{busy}/cancel")).status, 200);
    wait_for("the places to be free again", JOB_LIMIT, || (open_files(&server) < 1000).then_some(()));
}

fn resident_kib(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

fn open_files(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count()
}
