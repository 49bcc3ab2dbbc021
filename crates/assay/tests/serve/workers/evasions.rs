//! Attempts to evade the audit: hanging up before the answer, and evidence that only a server makes.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use assay_model::GENERATION_HEADER;
use assay_testkit::{ProtocolWorker, SpareTime};
use serde_json::{Value, json};

use super::fixture::{HonestRun, lanes_elsewhere, submit, worker_row};
use crate::serve::assay;

/// Time that a finding may take after its liar hung up, on a quiet machine.
const AUDIT_LIMIT: Duration = Duration::from_secs(2);
/// Shortest time before the liar hangs up.
const PAUSE: Duration = Duration::from_millis(5);

#[test]
fn a_liar_that_hangs_up_before_the_answer_is_quarantined_all_the_same() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=1"]);
    let run = HonestRun::of("reference");
    submit(&client, "reference", "1");
    let token = assay.worker_token(&assay.path("data"), "hasty");
    let hasty = ProtocolWorker::register(server.address(), &token, &run.registration);
    let (lease, _) = hasty.claim(10).unwrap();
    run.store(&hasty, &lease, &run.results[0]);
    let mut result = run.results[0].clone();
    result["stages"][0]["passed"] = false.into();
    let body = json!({ "results": [{ "lease": lease, "result": result }] }).to_string();
    let head = format!(
        "POST /worker/v1/results HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n{GENERATION_HEADER}: {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        hasty.generation,
        body.len()
    );
    // A request whose sender hangs up too early is never read, so each waits a little longer.
    for pause in (1..).map(|tries| PAUSE * tries) {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream.set_read_timeout(Some(pause)).unwrap();
        let answer = stream.read(&mut [0; 64]).map_err(|error| error.kind());
        assert_eq!(answer, Err(ErrorKind::WouldBlock), "the liar had its answer before it hung up");
        drop(stream);
        let mut passed = SpareTime::new();
        while passed.elapsed() < AUDIT_LIMIT {
            if worker_row(&client, "hasty")["state"] == "QUARANTINED" {
                return;
            }
        }
    }
}

/// Adds the trace as the episode's video.
fn video(result: &mut Value) {
    let mut file = result["evidence"].as_array().unwrap().last().unwrap().clone();
    file["name"] = "episodes/000/video.mp4".into();
    result["evidence"].as_array_mut().unwrap().push(file);
    result["video_url"] = "episodes/000/video.mp4".into();
}

#[test]
fn a_video_from_a_worker_is_refused() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    submit(&client, "reference", "1");
    let liar = run.impostor(&assay, &server, "liar");
    let (lease, _) = liar.claim(10).unwrap();
    let mut result = run.results[0].clone();
    video(&mut result);
    run.store(&liar, &lease, &run.results[0]);
    let answer = liar.report(&lease, &result);
    assert_eq!(answer.status, 403, "{}", answer.body);
    assert_eq!(worker_row(&client, "liar")["state"], "QUARANTINED");
}
