//! Connections and waits of jobs.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use assay_model::JobId;
use assay_model::frame::{FrameKind, frame};
use futures_util::{SinkExt, StreamExt};
use tokio::runtime::Handle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::{ConnectedPolicies, ConnectionWaits};

const WAITS: ConnectionWaits = ConnectionWaits {
    first: Duration::from_millis(60),
    again: Duration::from_millis(20),
    total: Duration::from_millis(150),
};

fn job() -> JobId {
    "01936f3c-8d2e-7c41-9f0a-5b6c7d8e9f01".parse().unwrap()
}

async fn fault(policies: &ConnectedPolicies) -> (String, String) {
    let fault = policies.take(job()).await.err().unwrap();
    (fault.kind.code().to_string(), fault.message)
}

#[tokio::test]
async fn a_policy_that_never_connects_is_waited_for_once() {
    let policies = ConnectedPolicies::new(Handle::current(), WAITS);
    let began = Instant::now();
    let (code, message) = fault(&policies).await;
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("connect", "the policy did not connect within 0 s of the job's start")
    );
    assert!(began.elapsed() >= WAITS.first);
    // A thousand further episodes take no time.
    let rest = Instant::now();
    for _ in 0..1000 {
        fault(&policies).await;
    }
    assert!(rest.elapsed() < Duration::from_secs(5), "{:?}", rest.elapsed());
}

#[tokio::test]
async fn a_job_has_one_connection_and_none_after_its_end() {
    let policies = ConnectedPolicies::new(Handle::current(), WAITS);
    let first = policies.reserve(job()).unwrap();
    assert!(policies.reserve(job()).is_none(), "a second one");
    drop(first);
    let again = policies.reserve(job()).unwrap();
    policies.end(job());
    // The end of a job frees nothing that another connection could use by mistake.
    drop(again);
    assert!(policies.lock().is_empty());
}

#[tokio::test]
async fn a_parked_connection_belongs_to_the_next_episode() {
    let policies = ConnectedPolicies::new(Handle::current(), WAITS);
    let (near, far) = tokio::io::duplex(4096);
    policies.reserve(job()).unwrap().attach(far);
    let mut policy = tokio_tungstenite::WebSocketStream::from_raw_socket(near, Role::Client, None).await;
    let hello = frame(FrameKind::Hello, 0, 0, br#"{"protocol": 1, "python": "", "numpy": ""}"#);
    policy.send(Message::Binary(hello.into())).await.unwrap();
    // Reads, and thereby answers pings.
    tokio::spawn(async move { while policy.next().await.is_some() {} });
    for _ in 0..50 {
        let (socket, reservation) = policies.take(job()).await.unwrap();
        assert!(policies.reserve(job()).is_none(), "a second connection during an episode");
        reservation.park(socket);
        tokio::task::yield_now().await;
        assert!(policies.reserve(job()).is_none(), "a second connection between two episodes");
    }
    policies.end(job());
    assert!(policies.lock().is_empty());
}
