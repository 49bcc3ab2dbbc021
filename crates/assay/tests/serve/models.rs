//! Models on a real server: an upload that outlives its client and its server, the commands, policies that name models,
//! and backups.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_model::Sha256Digest;
use assay_testkit::{Account, Assay, Client, PATIENCE, Run, Server, archive, wait_for};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, shared_server};

const MIB: usize = 1 << 20;
/// Maximum time for a transfer of a few MiB.
const LIMIT: Duration = PATIENCE;
/// Environment variable with the size of the model in these tests in MiB, for `tools/test-long models`.
const SIZE: &str = "ASSAY_MODEL_MIB";
/// Its usual size: several times the interval at which received bytes are recorded.
const USUAL_MIB: usize = 40;
/// More than what is received between two records: 8 MiB and a buffer.
const UNRECORDED: usize = 10 * MIB;

fn content() -> Vec<u8> {
    let size = MIB * std::env::var(SIZE).map_or(USUAL_MIB, |mib| mib.parse().unwrap());
    let period: Vec<u8> = (0..251).flat_map(|byte| [byte; 7]).collect();
    let mut content = period.repeat(size / period.len() + 1);
    content.truncate(size);
    content
}

fn start(assay: &Assay) -> (Server, Client) {
    let server = assay.serve(&assay.path("data"), &["--lanes", "1"]);
    let client = server.client(&fs::read_to_string(key_file(assay)).unwrap());
    (server, client)
}

fn key_file(assay: &Assay) -> PathBuf {
    assay.path("data/bootstrap-key")
}

/// Runs `assay model` against the server.
fn model(assay: &Assay, server: &Server, arguments: &[&str]) -> Run {
    model_with(assay, (server.address(), &key_file(assay)), arguments)
}

/// Runs `assay model` against the server at an address, with a key in a file.
fn model_with(assay: &Assay, (address, key): (&str, &Path), arguments: &[&str]) -> Run {
    let address = format!("http://{address}");
    let service = ["--server", &address, "--key-file", key.to_str().unwrap()];
    assay.run(&[&["model"], arguments, &service].concat())
}

/// Begins to send the bytes from `offset` in one piece, and sends those up to `end`.
fn begin(assay: &Assay, server: &Server, path: &str, content: &[u8], (offset, end): (usize, usize)) -> TcpStream {
    let key = fs::read_to_string(key_file(assay)).unwrap();
    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let head = format!(
        "PATCH {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/octet-stream\r\n\
         Upload-Offset: {offset}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        key.trim(),
        content.len() - offset
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(&content[offset..end]).unwrap();
    socket
}

fn offset(client: &Client, path: &str) -> usize {
    client.get(path).body["offset"].as_u64().unwrap().try_into().unwrap()
}

fn list(assay: &Assay, server: &Server) -> Value {
    let run = model(assay, server, &["list", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str::<Value>(&run.stdout).unwrap()["models"].clone()
}

#[test]
fn an_upload_continues_after_its_client_and_its_server_were_killed() {
    let assay = assay();
    let (server, client) = start(&assay);
    let bytes = content();
    let (size, sha256) = (bytes.len(), Sha256Digest::of(&bytes));
    let file = assay.write("net.onnx", &bytes);
    let announced = client.post_json("/models", &json!({ "sha256": sha256, "size_bytes": size }));
    assert_eq!(announced.status, 201, "{}", announced.body);
    let path = format!("/models/{}", announced.body["upload_id"].as_str().unwrap());

    // The client dies: all that arrived counts.
    let first = size / 8 + 77;
    drop(begin(&assay, &server, &path, &bytes, (0, first)));
    wait_for("the end of the first piece", LIMIT, || (offset(&client, &path) == first).then_some(()));

    // The server dies in the middle of a piece: what was recorded counts, and no more.
    let sent = first + size / 2;
    let recorded = sent - UNRECORDED;
    let socket = begin(&assay, &server, &path, &bytes, (first, sent));
    let second = begin(&assay, &server, &path, &bytes, (first, first + MIB));
    wait_for("recorded bytes", LIMIT, || (offset(&client, &path) >= recorded).then_some(()));
    let mut refused = String::new();
    (&second).read_to_string(&mut refused).unwrap();
    assert!(refused.starts_with("HTTP/1.1 409 "), "another writer: {refused}");
    assert_ne!(server.stop(Signal::KILL, STOP_LIMIT).code, 0);
    drop(socket);

    let (server, client) = start(&assay);
    let after = offset(&client, &path);
    assert!((recorded..=sent).contains(&after), "{after}");
    eprintln!("{after} of {sent} bytes counted when the server was killed; the model has {size}");
    assert_eq!(list(&assay, &server)[0]["state"], "UPLOADING");
    // The same command continues it, in pieces.
    let run = model(&assay, &server, &["upload", file.to_str().unwrap(), "--piece-mib", "9", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let ready: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&ready["state"], &ready["upload_id"]), (&json!("READY"), &announced.body["upload_id"]));
    let stored = assay.path(&format!("data/models/admin/{sha256}"));
    assert!(fs::read(&stored).unwrap() == bytes);
    assert_eq!(fs::read_dir(stored.parent().unwrap()).unwrap().count(), 1);
    let without_key = assay.run(&["model", "list", "--server", &format!("http://{}", server.address())]);
    assert_eq!((without_key.code, without_key.stderr.contains("no API key")), (2, true), "{}", without_key.stderr);
    // Any number of jobs read it, and a second time there is nothing to send.
    for _ in 0..2 {
        assert_read(&client, &bytes);
    }
    let run = model(&assay, &server, &["upload", file.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains(&format!("[[models]]\npath = \"net.onnx\"\nsha256 = \"{sha256}\"")), "{}", run.stdout);
    assert_eq!(model(&assay, &server, &["remove", &sha256.to_string()]).code, 0);
    let run = model(&assay, &server, &["remove", &sha256.to_string()]);
    assert_eq!((run.code, run.stderr.contains("there is no such model")), (2, true), "{}", run.stderr);
    assert!(!stored.exists() && list(&assay, &server) == json!([]));
}

#[test]
fn a_command_that_was_killed_continues_when_it_is_run_again() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server("default");
    let key = assay.write("key", key);
    let content = content();
    let (file, part) = (assay.write("net.onnx", &content), content.len() as u64 / 8);
    let address = format!("http://{}", server.address());
    let arguments = ["model", "upload", file.to_str().unwrap(), "--piece-mib", "8", "--server", &address, "--key-file"];
    let arguments = [&arguments[..], &[key.to_str().unwrap()]].concat();
    let running = assay.start(&arguments);
    let received = || client.get("/models").body["models"][0]["offset"].as_u64().filter(|offset| *offset > part);
    let before = wait_for("an eighth of the bytes", LIMIT, received);
    running.signal(Signal::KILL);
    drop(running.wait(LIMIT));
    let run = assay.run(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let model = client.get("/models").body["models"][0].clone();
    assert_eq!((&model["state"], client.get("/models").body["total"].clone()), (&json!("READY"), json!(1)), "{before}");
}

/// Returns the files of a policy that declares a model of this content.
fn declaring(content: &[u8]) -> [(&'static str, Vec<u8>); 2] {
    let policy = b"import os\n\nfile = open(os.path.join(os.path.dirname(__file__), 'net.bin'), 'rb')\n\n\n\
                   def policy(observation):\n    return [0]\n"
        .to_vec();
    let toml = format!("[[models]]\npath = \"net.bin\"\nsha256 = \"{}\"\n", Sha256Digest::of(content));
    [("policy.py", policy), ("policy.toml", toml.into_bytes())]
}

/// Verifies a policy that compares a sum over the uploaded model of this content.
fn assert_read(client: &Client, content: &[u8]) {
    let words = content.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let sum = words.fold(0, u64::wrapping_add);
    let policy = format!(
        "import numpy as np\n\nwords = np.memmap(__file__.replace('policy.py', 'net.bin'), np.uint64, 'r')\n\
         assert int(words.sum(dtype=np.uint64)) == {sum}\n\n\ndef policy(observation):\n    return [0]\n"
    );
    let [_, toml] = declaring(content);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")];
    let job = client.verify(&zipped(&[("policy.py", policy.into_bytes()), toml]), &parts);
    let ended = client.ended_job(&job, JOB_LIMIT);
    let errors: Vec<_> = ended.episode_details.iter().filter_map(|episode| episode.error.as_ref()).collect();
    assert!(errors.is_empty() && ended.episode_details.len() == 2 && ended.models.len() == 1, "{errors:?}");
}

fn zipped(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    archive(&files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect::<Vec<_>>())
}

fn policy_folder(assay: &Assay, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let folder = assay.path("policy");
    fs::create_dir(&folder).unwrap();
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    folder
}

#[test]
fn a_policy_uses_models_of_its_account_and_those_in_its_archive() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server("default");
    let key = assay.write("key", key);
    let [script, toml] = declaring(b"weights");
    let parts = [("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")];
    let refused = client.try_verify(&zipped(&[script.clone(), toml.clone()]), &parts).unwrap();
    assert_eq!(refused.status, 422, "{}", refused.body);
    // Inside the archive, a model needs no upload.
    let inside = ("net.bin", b"weights".to_vec());
    let job = client.verify(&zipped(&[script.clone(), toml.clone(), inside]), &parts);
    let in_archive = client.ended_job(&job, JOB_LIMIT);
    assert!(in_archive.episode_details[0].error.is_none(), "{:?}", in_archive.episode_details[0].error);
    let other = ("net.bin", b"other".to_vec());
    let refused = client.try_verify(&zipped(&[script.clone(), toml.clone(), other]), &parts).unwrap();
    assert!(refused.text.contains("the file in the policy's folder has the SHA-256"), "{}", refused.body);

    // Uploaded once, it serves a preflight and any number of jobs.
    let file = assay.write("net.bin", b"weights");
    assert_eq!(model_with(&assay, (server.address(), &key), &["upload", file.to_str().unwrap()]).code, 0);
    let preflight = client
        .try_form("/preflight", Some(&zipped(&[script.clone(), toml.clone()])), &[("scenario", CARTPOLE)])
        .unwrap();
    assert_eq!((preflight.status, &preflight.body["error"]), (200, &Value::Null), "{}", preflight.body);
    for _ in 0..2 {
        let job = client.verify(&zipped(&[script.clone(), toml.clone()]), &parts);
        let ended = client.ended_job(&job, JOB_LIMIT);
        assert!(ended.episode_details.iter().all(|episode| episode.error.is_none()), "{:?}", ended.episode_details);
        assert_eq!(ended.models.len(), 1);
    }
}

#[test]
fn a_model_that_is_deleted_during_a_preflight_is_the_clients_error() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server("default");
    let key = assay.write("key", key);
    let [script, toml] = declaring(b"weights");
    let (zip, file) = (zipped(&[script, toml]), assay.write("net.bin", b"weights"));
    let path = format!("/models/{}", Sha256Digest::of("weights"));
    for wait_ms in [0, 5, 10, 20, 40] {
        assert_eq!(model_with(&assay, (server.address(), &key), &["upload", file.to_str().unwrap()]).code, 0);
        let answer = std::thread::scope(|scope| {
            let preflight =
                scope.spawn(|| client.try_form("/preflight", Some(&zip), &[("scenario", CARTPOLE)]).unwrap());
            std::thread::sleep(Duration::from_millis(wait_ms));
            assert_eq!(client.delete(&path).status, 204);
            preflight.join().unwrap()
        });
        assert!([200, 422].contains(&answer.status), "after {wait_ms} ms: {}", answer.body);
    }
}

#[test]
fn a_policy_on_the_command_line_uses_models_that_are_given() {
    let assay = assay();
    let [script, toml] = declaring(b"weights");
    let folder = policy_folder(&assay, &[script, toml]);
    let out = assay.path("out");
    let verify = ["verify", folder.to_str().unwrap(), "--scenario", CARTPOLE, "--episodes", "1", "--record", "all"];
    let run = assay.run(&verify);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("declares the model net.bin") && run.stderr.contains("--model"), "{}", run.stderr);
    let (file, other) = (assay.write("weights.bin", b"weights"), assay.write("other.bin", b"other"));
    let (file, other, out) = (file.to_str().unwrap(), other.to_str().unwrap(), out.to_str().unwrap());
    let run = assay.run(&[&verify[..], &["--model", file, "--model", other]].concat());
    assert_eq!((run.code, run.stderr.contains("declares no model with the SHA-256")), (2, true), "{}", run.stderr);
    let run = assay.run(&[&verify[..], &["--model", file, "--out", out, "--no-wait-video"]].concat());
    assert!(run.code <= 1, "{}", run.stderr);
    let report = format!("{out}/report.json");
    let run = assay.run(&["replay", &report, "--episode", "0", "--policy", folder.to_str().unwrap(), "--model", file]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = assay.run(&["replay", &report, "--episode", "0", "--policy", folder.to_str().unwrap()]);
    assert_eq!((run.code, run.stderr.contains("--model")), (2, true), "{}", run.stderr);
}

#[test]
fn a_backup_contains_complete_models() {
    let assay = assay();
    let (server, client) = start(&assay);
    let (file, data) = (assay.write("net.onnx", b"weights"), assay.path("data"));
    assert_eq!(model(&assay, &server, &["upload", file.to_str().unwrap()]).code, 0);
    let unfinished = json!({ "sha256": Sha256Digest::of("other"), "size_bytes": 5 });
    assert_eq!(client.post_json("/models", &unfinished).status, 201);
    let to = assay.path("backup");
    let run = assay.run(&["backup", "--data", data.to_str().unwrap(), to.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let copies = |folder: &Path| fs::read_dir(folder.join("models/admin")).unwrap().count();
    assert_eq!(copies(&to), 1);
    let restored = assay.path("restored");
    let run = assay.run(&["restore", to.to_str().unwrap(), "--data", restored.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let name = Sha256Digest::of("weights").to_string();
    assert_eq!(fs::read(restored.join("models/admin").join(name)).unwrap(), b"weights");
}
