//! Information for an operator: metrics and logs.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_model::Verdict;
use assay_testkit::{Client, PATIENCE, example, home, wait_for, zip_folder};

use crate::serve::{CARTPOLE, JOB_LIMIT, assay, serve};

#[test]
fn metrics_count_events() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")]);
    assert_eq!(client.ended_job(&id, JOB_LIMIT).verdict, Some(Verdict::Safe));
    assert_eq!(client.try_verify(b"no archive", &[("scenario", CARTPOLE)]).unwrap().status, 400);
    assert_eq!(server.client("assay_x_y").get("/verify").status, 401);
    assert_eq!(client.get(&format!("/nowhere/{id}")).status, 404);
    let text = String::from_utf8(client.download("/metrics")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/read_metrics.py");
    let file = assay.write("metrics.txt", &text);
    let read = Command::new(home().join("vendor/dev-venv/bin/python")).arg(script).arg(file).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let found: serde_json::Value = serde_json::from_slice(&read.stdout).unwrap();
    for (name, least, most) in [
        ("assay_jobs status=COMPLETED", 1.0, 1.0),
        ("assay_jobs status=QUEUED", 0.0, 0.0),
        ("assay_oldest_queued_job_age_seconds", 0.0, 0.0),
        ("assay_episode_duration_seconds_count", 2.0, 2.0),
        ("assay_lanes", 2.0, 2.0),
        ("assay_lanes_wanted", 0.0, 0.0),
        ("assay_lanes_busy", 0.0, 2.0),
        ("assay_refusals_total code=VALIDATION_ERROR route=/verify", 1.0, 1.0),
        ("assay_refusals_total code=UNAUTHORIZED route=/verify", 1.0, 1.0),
        ("assay_http_requests_total method=POST route=/verify status=201", 1.0, 1.0),
        ("assay_http_requests_total method=GET route=other status=404", 1.0, 1.0),
        ("assay_http_request_duration_seconds_count route=/verify/{job_id}", 1.0, 1e6),
        ("assay_evidence_bytes", 1000.0, 1e9),
        ("assay_db_commit_seconds_count", 5.0, 1e6),
        ("assay_db_queue_length", 0.0, 1024.0),
    ] {
        let value = found[name].as_f64();
        assert!(value.is_some_and(|value| (least..=most).contains(&value)), "{name}: {value:?} in {found:#}");
    }
    assert!(!text.contains(&id), "an id is no label");
}

/// The listener of the metrics needs no key and has nothing else; a taken port is an error only if it was named.
#[test]
fn metrics_have_a_listener_of_their_own() {
    let assay = assay();
    let more = ["--log-level", "info", "--set", "server.metrics=admin", "--lanes", "1"];
    let server = assay.serve(&assay.path("data"), &more);
    let address = wait_for("the address of the metrics", PATIENCE, || {
        let log = server.log();
        let line = log.lines().find(|line| line.contains("metrics at /metrics"))?;
        Some(line.split_once("address=")?.1.split_whitespace().next()?.to_owned())
    });
    let metrics = Client::new(&address, "");
    assert!(metrics.text("/metrics").contains("assay_lanes 1\n"));
    for path in ["/", "/healthz", "/verify", "/v1/metrics"] {
        assert_eq!(metrics.get(path).status, 404, "{path}");
    }
    let key = fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    let admin = server.client(&key);
    let made = admin.post_json("/keys", &serde_json::json!({ "name": "reader", "scopes": ["read", "review"] }));
    let reader = made.body["key"].as_str().unwrap().to_owned();
    for (key, status) in [(key.as_str(), 200), (reader.as_str(), 403), ("", 401), ("assay_x_y", 401)] {
        assert_eq!(server.client(key).get("/metrics").status, status, "{key}");
    }
    let taken = format!("server.metrics_listen={address}");
    let second = assay.begin_serving(&assay.path("other"), &["--lanes", "1", "--set", &taken]).wait(PATIENCE);
    assert_ne!(second.code, 0);
    assert!(second.stderr.contains("server.metrics_listen"), "{}", second.stderr);
}

#[test]
fn a_public_address_with_a_password_is_refused_and_not_repeated() {
    let assay = assay();
    for url in ["https://user:geheim@x.org", "http://geheim@x.org/assay", "https://geheim:@[::1]:8080/"] {
        let arguments = ["--set", &format!("server.public_url={url}")];
        let run = assay.begin_serving(&assay.path("data"), &arguments).wait(PATIENCE);
        assert_eq!(run.code, 2, "{url}: {}", run.stderr);
        assert!(run.stderr.contains("without user name and password"), "{}", run.stderr);
        assert!(!run.stderr.contains("geheim"), "{}", run.stderr);
    }
}

#[test]
fn the_log_is_json_and_holds_no_key() {
    let assay = assay();
    let more = ["--lanes", "1", "--log-format", "json", "--log-level", "trace"];
    let server = assay.serve(&assay.path("data"), &more);
    let key = fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    let client = server.client(&key);
    let made = client.post_json("/keys", &serde_json::json!({ "name": "canary", "scopes": ["read"] }));
    let canary = made.body["key"].as_str().unwrap().to_owned();
    assert_eq!(server.client(&canary).get("/verify").status, 200);
    let wrong = format!("{canary}wrong");
    assert_eq!(server.client(&wrong).get("/verify").status, 401);
    let zip = zip_folder(&example(CARTPOLE, "idle"));
    let parts =
        [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none"), ("policy_api_key", "k-7Jq2-canary")];
    client.ended_job(&client.verify(&zip, &parts), JOB_LIMIT);
    let log = server.log();
    let secret = |key: &str| key.trim().rsplit('_').next().unwrap().to_owned();
    for secret in [secret(&key), secret(&canary), "k-7Jq2-canary".to_owned()] {
        assert!(!log.contains(&secret), "a secret is in the log");
    }
    let parsed = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("a line is not JSON: {line}"));
    let lines: Vec<serde_json::Value> = log.lines().map(parsed).collect();
    assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()), "{log}");
    assert!(lines.iter().any(|line| line["message"].as_str().is_some_and(|text| text.starts_with("listening on"))));
    let answered = lines.iter().filter(|line| line["message"] == "answered");
    assert!(answered.clone().count() >= 4, "{log}");
    assert!(answered.clone().all(|line| line["http.status"].is_u64() && line["span"]["request.id"].is_string()));
}

#[test]
fn a_log_in_a_file_has_no_colours() {
    // Unset the variable, which the environment of the tests may contain.
    let assay = assay().with_variable("NO_COLOR", "");
    let server = assay.serve(&assay.path("data"), &["--lanes", "1", "--log-level", "info"]);
    assert_eq!(server.client("nonsense").get("/scenarios").status, 401);
    let log = server.log();
    assert!(log.contains("answered") && !log.contains('\x1b'), "{log:?}");
}
