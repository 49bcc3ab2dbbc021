//! Callers that use the protocol by hand: lost connections, tokens, and everything that is not allowed.

use std::time::Duration;

use assay_model::frame::FrameKind;
use assay_model::{JobReport, JobStatus, Verdict};
use assay_testkit::{Account, Client, SpareTime, wait_for};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::caller::{Caller, token};
use crate::serve::{CARTPOLE, JOB_LIMIT, assay, has_production_intervals, serve, serve_with, shared_server, shorter};

/// Maximum time until a revoked key has an effect, on a quiet machine.
const REVOCATION_LIMIT: Duration = Duration::from_secs(10);

/// Creates a job whose policy connects.
fn job(client: &Client, episodes: &str) -> String {
    client.verify_server(&[("connect", "true"), ("scenario", CARTPOLE), ("num_episodes", episodes), ("record", "none")])
}

/// The codes of the episodes' errors; empty without one.
fn codes(job: &JobReport) -> Vec<&str> {
    let errors = job.episode_details.iter().map(|episode| episode.error.as_ref());
    errors.map(|error| error.map_or("", |error| error.code.as_str())).collect()
}

#[test]
fn a_connection_that_is_lost_in_an_episode_costs_that_episode_only() {
    let (server, Account { client, .. }) = shared_server("default");
    let id = job(&client, "3");
    let mut caller = Caller::greeted(server.address(), &client, &id);
    caller.act(3);
    drop(caller);
    // The same job goes on over another connection, and over a third one that begins between two episodes.
    let mut caller = Caller::greeted(server.address(), &client, &id);
    caller.serve_episode();
    drop(caller);
    let mut caller = Caller::greeted(server.address(), &client, &id);
    caller.serve_episode();
    assert!(caller.receive().is_err(), "the connection ends with the job");
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!(
        (job.status, job.verdict, codes(&job)),
        (JobStatus::Completed, Some(Verdict::Inconclusive), vec!["closed", "", ""])
    );
    assert_eq!(job.blame.map(|blame| format!("{blame:?}")), Some("Policy".to_owned()));
    let refused = client.post(&format!("/verify/{id}/connection"));
    assert_eq!(refused.status, 409, "the job has ended: {}", refused.body);
}

#[test]
fn a_policy_that_does_not_connect_again_is_not_waited_for_long() {
    let assay = assay();
    let (server, client) = serve_with(&assay, &shorter(["intervals.policy_return_s=2"]));
    let id = job(&client, "2");
    let mut caller = Caller::greeted(server.address(), &client, &id);
    caller.act(1);
    drop(caller);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.verdict, codes(&job)), (Some(Verdict::Inconclusive), vec!["closed", "connect"]));
    let message = &job.episode_details[1].error.as_ref().unwrap().message;
    let limit_s = if has_production_intervals() { 30 } else { 2 };
    assert!(message.contains(&format!("did not connect again within {limit_s} s")), "{message}");
}

#[test]
fn tokens_and_connections_are_for_one_job_and_one_at_a_time() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let (id, other) = (job(&client, "1"), job(&client, "1"));
    let first = token(&client, &id);
    assert_eq!(Caller::open(server.address(), &other, &first).err(), Some(401), "a token of another job");
    assert_eq!(Caller::open(server.address(), &id, "assayc_0000").err(), Some(401), "an invented one");
    let mut caller = Caller::open(server.address(), &id, &first).unwrap();
    assert_eq!(Caller::open(server.address(), &id, &first).err(), Some(401), "a used one");
    let second = token(&client, &id);
    assert_eq!(Caller::open(server.address(), &id, &second).err(), Some(409), "a second connection");
    caller.greet();
    caller.act(0);
    assert_eq!(Caller::open(server.address(), &id, &second).err(), Some(409), "during an episode");
    drop(caller);
    // The refused token stays valid: the end of the first connection, or else that of the job, decides.
    wait_for("the end of the first connection", JOB_LIMIT, || match Caller::open(server.address(), &id, &second) {
        Ok(_) => Some(()),
        Err(409) => client.job(&id).status.is_final().then_some(()),
        Err(status) => panic!("{status}"),
    });
    for id in [id, other] {
        let _ = client.post(&format!("/verify/{id}/cancel"));
    }
    assert!(!server.log().contains(&first) && !server.log().contains(&second));
}

/// Lets `hostile` act in the only episode of a job, and checks the code of the policy's error.
#[track_caller]
fn offence(address: &str, client: &Client, code: &str, message: &str, hostile: impl FnOnce(&mut Caller, u64, u32)) {
    let id = job(client, "1");
    let mut caller = Caller::greeted(address, client, &id);
    let (nonce, seq) = caller.act(2);
    hostile(&mut caller, nonce, seq);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.verdict, codes(&job)), (JobStatus::Completed, Some(Verdict::Inconclusive), vec![code]));
    let found = &job.episode_details[0].error.as_ref().unwrap().message;
    assert!(found.contains(message), "{found:?} instead of {message:?}");
}

#[test]
fn what_is_no_answer_is_the_policys_error() {
    let (server, Account { client, .. }) = shared_server("default");
    let offence = |code, message, hostile: &dyn Fn(&mut Caller, u64, u32)| {
        offence(server.address(), &client, code, message, hostile)
    };
    let action = 0_f64.to_le_bytes();
    offence("protocol", "a frame of another episode", &|c, nonce, seq| {
        c.send(FrameKind::Action, seq, nonce ^ 1, &action)
    });
    offence("protocol", "an answer to observation 1 instead of 2", &|c, nonce, seq| {
        c.send(FrameKind::Action, seq - 1, nonce, &action);
    });
    offence("protocol", "Ready instead of Action", &|c, nonce, seq| c.send(FrameKind::Ready, seq, nonce, b""));
    offence("protocol", "Hello instead of Action", &|c, nonce, seq| c.send(FrameKind::Hello, seq, nonce, b"{}"));
    offence("protocol", "text instead of a frame", &|c, _, _| c.send_message(Message::Text("act".into())));
    offence("protocol", "half a frame", &|c, _, _| c.send_message(Message::Binary(Bytes::from_static(b"ASY1"))));
    offence("protocol", "bad magic", &|c, _, _| c.send_message(Message::Binary(vec![0; 32].into())));
    offence("protocol", "more than", &|c, _, _| c.send_message(Message::Binary(vec![0; 3 << 20].into())));
    offence("protocol", "more than", &|c, _, _| (0..1100).for_each(|_| c.send_message(Message::Ping(Bytes::new()))));
    offence("bad_action", "actions[0][0] is NaN", &|c, nonce, seq| {
        c.send(FrameKind::Action, seq, nonce, &f64::NAN.to_le_bytes());
    });
    offence("bad_action", "7 bytes of actions", &|c, nonce, seq| c.send(FrameKind::Action, seq, nonce, &[0; 7]));
    offence("bad_action", "0 bytes of actions", &|c, nonce, seq| c.send(FrameKind::Action, seq, nonce, b""));
    offence("bad_action", "1001 actions", &|c, nonce, seq| c.send(FrameKind::Action, seq, nonce, &[0; 8 * 1001]));
    // A policy reports its own faults only.
    let fault = |code: &str| format!(r#"{{"code": "{code}", "message": "m\u001b[31m", "traceback": ""}}"#).into_bytes();
    offence("exception", "m", &|c, nonce, seq| c.send(FrameKind::Error, seq, nonce, &fault("exception")));
    for code in ["simulator_died", "unstable", "cut_off", "another"] {
        offence("server_error", "m", &|c, nonce, seq| c.send(FrameKind::Error, seq, nonce, &fault(code)));
    }
    offence("protocol", "not readable", &|c, nonce, seq| c.send(FrameKind::Error, seq, nonce, b"{"));
    // A second answer arrives before the next request.
    offence("protocol", "", &|c, nonce, seq| {
        c.send(FrameKind::Action, seq, nonce, &action);
        c.send(FrameKind::Action, seq, nonce, &action);
    });
    // The service is well: a job of another policy gets its verdict.
    let id = job(&client, "1");
    Caller::greeted(server.address(), &client, &id).serve_episode();
    assert_eq!(codes(&client.ended_job(&id, JOB_LIMIT)), [""]);
}

#[test]
fn a_connection_without_a_proper_hello_is_closed_and_another_one_is_accepted() {
    let assay = assay();
    let (server, client) = serve_with(&assay, &shorter(["intervals.policy_hello_s=1"]));
    let id = job(&client, "1");
    for (hello, reason) in [
        (br#"{"protocol": 2, "python": "", "numpy": ""}"#.as_slice(), "version 2"),
        (b"{}", "missing field"),
        (b"", "EOF"),
    ] {
        let mut caller = Caller::free(server.address(), &client, &id);
        caller.send(FrameKind::Hello, 0, 0, hello);
        let closed = caller.receive().unwrap_err();
        assert!(closed.contains(reason), "{closed:?} instead of {reason:?}");
    }
    let mut caller = Caller::free(server.address(), &client, &id);
    caller.send(FrameKind::Action, 0, 0, b"");
    assert!(caller.receive().unwrap_err().contains("not HELLO"));
    let mut silent = Caller::free(server.address(), &client, &id);
    let limit_s = if has_production_intervals() { 5 } else { 1 };
    assert!(silent.receive().unwrap_err().contains(&format!("send HELLO within {limit_s} s")));
    let mut caller = Caller::greeted(server.address(), &client, &id);
    caller.serve_episode();
    assert_eq!(codes(&client.ended_job(&id, JOB_LIMIT)), [""]);
}

#[test]
fn a_revoked_key_ends_its_connections() {
    let assay = assay();
    let (server, admin) = serve(&assay);
    let made = admin.post_json("/keys", &serde_json::json!({ "name": "k", "scopes": ["verify", "read"] }));
    let (key, key_id) = (made.body["key"].as_str().unwrap(), made.body["id"].as_str().unwrap());
    let client = server.client(key);
    let (id, unused) = (job(&client, "1"), job(&client, "1"));
    let mut caller = Caller::greeted(server.address(), &client, &id);
    caller.act(1);
    let unused_token = token(&client, &unused);
    assert_eq!(admin.delete(&format!("/keys/{key_id}")).status, 204);
    let mut passed = SpareTime::new();
    assert!(caller.receive().is_err());
    assert!(passed.elapsed() < REVOCATION_LIMIT, "{passed:?}");
    wait_for("a refusal", REVOCATION_LIMIT, || {
        (Caller::open(server.address(), &unused, &unused_token).err() == Some(401)).then_some(())
    });
    assert_eq!(codes(&admin.ended_job(&id, JOB_LIMIT)), ["closed"]);
    assert_eq!(admin.post(&format!("/verify/{unused}/cancel")).status, 200);
}
