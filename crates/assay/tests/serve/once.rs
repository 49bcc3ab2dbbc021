//! A client that lost the answer repeats its request.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use assay_testkit::{Client, PATIENCE, archive, wait_for};
use rustix::process::Signal;

use crate::serve::{CARTPOLE, SLOW, STOP_LIMIT, assay, serve};

const ACCEPT_LIMIT: Duration = PATIENCE;

fn jobs(client: &Client) -> Vec<String> {
    let page = client.get("/verify").body;
    page["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_lost_answer_is_repeated_after_a_kill() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let zip = archive(&[("policy.py", SLOW)]);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1")];
    let (kind, body) = Client::form(&zip, &parts);
    let key = std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    let head = format!(
        "POST /verify HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nidempotency-key: lost\r\n\
         content-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        key.trim(),
        body.len()
    );
    // Its answer is never read.
    let mut lost = TcpStream::connect(server.address()).unwrap();
    lost.write_all(&[head.as_bytes(), &body].concat()).unwrap();
    let accepted = wait_for("an accepted job", ACCEPT_LIMIT, || jobs(&client).pop());
    assert_ne!(server.stop(Signal::KILL, STOP_LIMIT).code, 0);
    drop(lost);

    let (_server, client) = serve(&assay);
    for _ in 0..2 {
        let again = client.try_verify_once("lost", &zip, &parts).unwrap();
        assert_eq!((again.status, again.body["job_id"].as_str()), (201, Some(accepted.as_str())), "{}", again.body);
        assert_eq!(again.body["status"], "QUEUED", "as it was when it was accepted");
    }
    assert_eq!(client.try_verify_once("lost", &zip, &[("scenario", CARTPOLE)]).unwrap().status, 409);
    assert_eq!(jobs(&client), std::slice::from_ref(&accepted));
    assert_eq!(client.post(&format!("/verify/{accepted}/cancel")).status, 200);
}
