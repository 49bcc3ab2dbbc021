//! Webhooks, with the documented receiver and with receivers that fail.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use assay_testkit::{
    Account, Assay, Client, PATIENCE, PythonServer, Server, archive, example, home, wait_for, zip_folder,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::serve::arena::member;
use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, set, shared_server, shorter};

/// The setting that opens loopback, which counts as a network of the operator.
const OPENED: [&str; 4] = ["--lanes", "1", "--set", "server.webhook_networks=127.0.0.0/8"];
/// Maximum time of the attempts at a delivery.
const DELIVERY_LIMIT: Duration = PATIENCE;

fn serve(assay: &Assay, more: &[&str]) -> (Server, Client) {
    let server = assay.serve(&assay.path("data"), &[&OPENED, more].concat());
    let key = std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    let client = server.client(&key);
    (server, client)
}

fn secret(client: &Client) -> String {
    let made = client.post("/webhooks/secret");
    assert_eq!(made.status, 201, "{}", made.body);
    made.body["secret"].as_str().unwrap().to_owned()
}

fn idle() -> Vec<u8> {
    zip_folder(&example(CARTPOLE, "idle"))
}

fn reported(client: &Client, url: &str) -> String {
    client.verify(&idle(), &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none"), ("callback_url", url)])
}

fn delivery(client: &Client, job: &str) -> Value {
    let page = client.get(&format!("/webhooks/deliveries?job_id={job}")).body;
    assert_eq!(page["total"], 1, "{page}");
    page["deliveries"][0].clone()
}

fn settled(client: &Client, job: &str) -> Value {
    wait_for("a delivery", DELIVERY_LIMIT, || {
        Some(delivery(client, job)).filter(|delivery| delivery["state"] != "PENDING")
    })
}

fn documented_receiver(assay: &Assay, secret: &str) -> PythonServer {
    let file = assay.write("webhook-secret", secret);
    let script = home().join("docs/webhook_receiver.py");
    PythonServer::start(&script, &["--secret-file", file.to_str().unwrap()])
}

/// A received message: head (lower case) and body.
type Received = (String, Vec<u8>);

/// Answers each request with the next of these statuses, and repeats the last one.
fn answering(statuses: &'static [&'static str]) -> (String, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?token=t-9Kx", listener.local_addr().unwrap());
    let (sender, received) = channel();
    std::thread::spawn(move || {
        let last = statuses.len() - 1;
        for (number, mut socket) in listener.incoming().map_while(Result::ok).enumerate() {
            let mut reader = BufReader::new(socket.try_clone().unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let length = |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
            let mut body = vec![0; head.lines().find_map(length).unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            let status = statuses[number.min(last)];
            let more = "Location: http://127.0.0.1:9/elsewhere\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            write!(socket, "HTTP/1.1 {status}\r\n{more}").unwrap();
            if sender.send((head, body)).is_err() {
                return;
            }
        }
    });
    (url, received)
}

fn headers(head: &str) -> http::HeaderMap {
    let pairs = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    pairs.map(|(name, value)| (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap())).collect()
}

#[test]
fn the_end_of_a_job_is_reported_signed() {
    let assay = assay();
    let (_server, Account { client, .. }) = shared_server("open");
    let receiver = documented_receiver(&assay, &secret(&client));
    let url = format!("http://127.0.0.1:{}/hook", receiver.port());
    let job = reported(&client, &url);
    let message: Value = serde_json::from_str(&receiver.wait_for("message ")).unwrap();
    assert_eq!((&message["type"], &message["data"]["job_id"]), (&json!("verification.completed"), &json!(job)));
    let shown = client.get(&format!("/verify/{job}")).body;
    for field in ["status", "verdict", "completed_at", "statistics", "composite_score"] {
        assert_eq!(message["data"][field], shown[field], "{field}");
    }
    assert_eq!(message["timestamp"], shown["completed_at"]);
    let kept = settled(&client, &job);
    assert_eq!((&kept["state"], &kept["attempts"], &kept["url"]), (&json!("DELIVERED"), &json!(1), &json!(url)));
    assert_eq!((&kept["log"][0]["status"], &kept["log"][0]["error"]), (&json!(204), &Value::Null));
    let slow = client.verify(
        &archive(&[("policy.py", crate::serve::SLOW)]),
        &[("scenario", CARTPOLE), ("num_episodes", "1"), ("callback_url", &url)],
    );
    assert_eq!(client.post(&format!("/verify/{slow}/cancel")).status, 200);
    let message: Value = serde_json::from_str(&receiver.wait_for("message ")).unwrap();
    assert_eq!(message["type"], "verification.cancelled");
    assert_eq!(client.delete(&format!("/verify/{job}")).status, 204);
    assert_eq!(client.get(&format!("/webhooks/deliveries?job_id={job}")).body["total"], 0, "it goes with its job");
}

#[test]
fn both_secrets_sign_after_a_rotation() {
    let (_server, Account { client, .. }) = shared_server("open");
    let (old, new) = (secret(&client), secret(&client));
    assert_ne!(old, new);
    let (url, received) = answering(&["204 No Content"]);
    let job = reported(&client, &url);
    let (head, body) = received.recv_timeout(JOB_LIMIT).unwrap();
    assert!(head.starts_with("POST /hook?token=t-9Kx HTTP/1.1\r\n"), "{head}");
    for secret in [&old, &new] {
        // Uses the verification of the specification, with its window of five minutes.
        Webhook::new(secret).unwrap().verify(&body, &headers(&head)).unwrap();
    }
    let stranger = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    assert!(Webhook::new(stranger).unwrap().verify(&body, &headers(&head)).is_err());
    assert_eq!(headers(&head)["webhook-id"], job.as_str());
    let kept = settled(&client, &job);
    assert!(kept["url"].as_str().unwrap().ends_with("/hook"), "the token in the query is not shown: {kept}");
}

#[test]
fn failed_deliveries_are_retried_also_by_the_next_server() {
    let assay = assay();
    let (server, client) = serve(&assay, &["-v"]);
    let secret = secret(&client);
    let (url, received) = answering(&["503 Busy", "302 Found", "200 OK"]);
    let job = reported(&client, &url);
    let (first, _) = received.recv_timeout(JOB_LIMIT).unwrap();
    let waiting = wait_for("the first attempt", DELIVERY_LIMIT, || {
        Some(delivery(&client, &job)).filter(|delivery| delivery["attempts"] == 1)
    });
    assert_eq!((&waiting["state"], &waiting["log"][0]["status"]), (&json!("PENDING"), &json!(503)));
    assert!(waiting["next_attempt_at"].is_string());
    let log = server.log();
    assert!(log.contains("a webhook failed") && !log.contains("t-9Kx"), "{log}");
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    // The second attempt is due after the pause of the first server, the third after this one's.
    let (_server, client) = serve(&assay, &set(&shorter(["intervals.webhook_retry_s=0.2"])));
    let (second, body) = received.recv_timeout(DELIVERY_LIMIT).unwrap();
    assert_eq!(headers(&first)["webhook-id"], headers(&second)["webhook-id"]);
    assert_ne!(headers(&first)["webhook-timestamp"], headers(&second)["webhook-timestamp"]);
    Webhook::new(&secret).unwrap().verify(&body, &headers(&second)).unwrap();
    let kept = settled(&client, &job);
    assert_eq!((&kept["state"], &kept["attempts"]), (&json!("DELIVERED"), &json!(3)));
    assert!(kept["log"][1]["error"].as_str().unwrap().contains("a redirect, which is never followed"), "{kept}");
}

#[test]
fn a_receiver_may_decline_and_a_message_is_abandoned() {
    let assay = assay();
    // Long enough for a second attempt, and not for a third.
    let settings = [&["webhooks.retry_for_s=6"][..], &shorter(["intervals.webhook_retry_s=1"])].concat();
    let (server, client) = serve(&assay, &set(&settings));
    let _secret = secret(&client);
    let (declining, _received) = answering(&["410 Gone"]);
    let job = reported(&client, &declining);
    let kept = settled(&client, &job);
    assert_eq!((&kept["state"], &kept["attempts"]), (&json!("GIVEN_UP"), &json!(1)));
    // Data received before the encryption is not shown: it may be long and contain names.
    let unencrypted = reported(&client, &declining.replace("http://", "https://"));
    let kept = settled(&client, &unencrypted);
    let error = kept["log"][0]["error"].as_str().unwrap();
    assert_eq!(error, "no encrypted connection: its certificate is not trusted or not valid for its name");
    let (failing, received) = answering(&["500 Broken"]);
    let job = reported(&client, &failing);
    let kept = settled(&client, &job);
    assert_eq!((&kept["state"], &kept["attempts"]), (&json!("GIVEN_UP"), &json!(2)));
    assert_eq!(kept["next_attempt_at"], Value::Null);
    assert_eq!(received.try_iter().count(), 2);
    assert!(server.log().contains("a webhook was given up"), "{}", server.log());
}

#[test]
fn addresses_go_through_the_guard() {
    let assay = assay();
    let server = assay.serve(&assay.path("data"), &["--lanes", "1", "--policy-networks", "127.0.0.0/8"]);
    let client = server.client(&std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());

    let refused = |url: &str| {
        let answer = client
            .try_verify(&idle(), &[("scenario", CARTPOLE), ("num_episodes", "1"), ("callback_url", url)])
            .unwrap();
        assert_eq!((answer.status, &answer.body["error"]["details"]["field"]), (400, &json!("callback_url")), "{url}");
        assert_eq!(answer.body["error"]["details"]["value"], Value::Null, "{url}");
        answer.body["error"]["message"].as_str().unwrap().to_owned()
    };
    assert!(refused("https://lab.example/hook").contains("POST /webhooks/secret"));
    let _secret = secret(&client);
    for url in ["http://127.0.0.1:1/x", "http://[::1]/x", "https://169.254.169.254/latest", "http://10.0.0.1/"] {
        assert!(refused(url).contains("only public addresses"), "{url}");
    }
    for url in ["ftp://lab.example/", "wss://lab.example/", "lab"] {
        assert!(refused(url).contains("must be an address such as https://"), "{url}");
    }
    assert!(refused("https://user:pw@lab.example/").contains("never sent"));
    // A name is looked up when the message is sent.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let job = reported(&client, &format!("http://localhost:{}/x", listener.local_addr().unwrap().port()));
    let waiting = wait_for("an attempt", DELIVERY_LIMIT, || {
        Some(delivery(&client, &job)).filter(|delivery| delivery["attempts"] == 1)
    });
    let error = waiting["log"][0]["error"].as_str().unwrap();
    assert!(error.contains("only public addresses"), "{error}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody dialled");
}

#[test]
fn a_submission_is_reported_when_its_end_is_published() {
    let assay = assay();
    let (server, admin) = serve(&assay, &[]);
    let data = assay.path("data");
    assert_eq!(assay.run(&["season", "open", CARTPOLE, "--data", data.to_str().unwrap()]).code, 0);
    let (lab, other) = (member(&server, &admin, "lab"), member(&server, &admin, "other"));
    let receiver = documented_receiver(&assay, &secret(&lab));
    let url = format!("http://127.0.0.1:{}/hook", receiver.port());
    let parts = [("scenario_id", CARTPOLE), ("callback_url", url.as_str())];
    let refused = other.try_form("/submissions", Some(&idle()), &parts).unwrap();
    assert_eq!((refused.status, &refused.body["error"]["details"]["field"]), (400, &json!("callback_url")));
    let made = lab.try_form("/submissions", Some(&idle()), &parts).unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.body["submission_id"].as_str().unwrap().to_owned();
    // Nothing is known before that its own page does not show.
    let shown = wait_for("the end of a submission", JOB_LIMIT, || {
        let kept = delivery(&lab, &id);
        let page = lab.get(&format!("/submissions/{id}")).body;
        if page["completed_at"].is_string() {
            return Some(page);
        }
        assert_eq!((&kept["attempts"], &kept["next_attempt_at"], &kept["log"]), (&json!(0), &Value::Null, &json!([])));
        None
    });
    let message: Value = serde_json::from_str(&receiver.wait_for("message ")).unwrap();
    assert_eq!(message["type"], "submission.completed");
    // Complete except for the addresses of evidence, which are signed on request.
    for (name, value) in
        shown.as_object().unwrap().iter().filter(|(name, _)| !name.ends_with("_url") && *name != "showcase")
    {
        assert_eq!(message["data"][name], *value, "{name}");
    }
    assert_eq!(message["timestamp"], shown["completed_at"]);
    assert_eq!(other.get(&format!("/webhooks/deliveries?job_id={id}")).body["total"], 0, "another account's");
}
