//! Connections and waits of jobs.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use assay_model::JobId;
use assay_model::frame::{FrameKind, frame};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::{ConnectedPolicies, ConnectionWaits, NotTaken};

const WAITS: ConnectionWaits = ConnectionWaits {
    hello: PATIENCE,
    first: Duration::from_millis(60),
    again: Duration::from_millis(20),
    total: Duration::from_millis(150),
};

/// Maximum time of a wait that only ends what hangs.
const PATIENCE: Duration = Duration::from_secs(600);

fn job() -> JobId {
    "01936f3c-8d2e-7c41-9f0a-5b6c7d8e9f01".parse().unwrap()
}

async fn fault(policies: &ConnectedPolicies) -> (String, String) {
    let Err(NotTaken::Fault(fault)) = policies.take(job()).await else { panic!("no fault") };
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
    for _ in 0..1000 {
        fault(&policies).now_or_never().expect("further episodes do not wait");
    }
}

#[tokio::test]
async fn an_episode_is_left_to_the_server_that_its_policy_is_connected_to() {
    let waits = ConnectionWaits { first: Duration::from_secs(60), ..WAITS };
    let policies = ConnectedPolicies::new(Handle::current(), waits);
    let (episode, elsewhere) = (policies.clone(), BTreeSet::from([job()]));
    let episode = tokio::spawn(async move { episode.take(job()).await.err().unwrap() });
    while !policies.awaited().contains(&job()) {
        tokio::task::yield_now().await;
    }
    policies.set_elsewhere(&elsewhere);
    assert!(matches!(episode.await.unwrap(), NotTaken::Elsewhere), "an episode that waits");
    assert!(matches!(policies.take(job()).await, Err(NotTaken::Elsewhere)), "one that begins");
    assert_eq!(policies.out_of_reach(), elsewhere);
    // A connection to this process is used, whatever other servers report.
    let held = policies.reserve(job()).unwrap();
    assert!(policies.out_of_reach().is_empty());
    drop(held);
    policies.set_elsewhere(&BTreeSet::new());
    assert!(policies.out_of_reach().is_empty());
    assert_eq!(policies.known(), elsewhere, "its waits still count");
}

#[tokio::test]
async fn a_policy_that_moves_between_servers_without_answering_uses_up_its_waits() {
    let policies = ConnectedPolicies::new(Handle::current(), WAITS);
    drop(policies.reserve(job()).unwrap());
    for dead in 1..=3 {
        policies.set_elsewhere(&BTreeSet::from([job()]));
        assert!(matches!(policies.take(job()).await, Err(NotTaken::Elsewhere)), "after {dead}");
        // It connects here, and answers no ping.
        assert_eq!(policies.checked(job(), false, WAITS.total / 3), dead);
    }
    let (code, message) = fault(&policies).await;
    assert!(code == "connect" && message.contains("did not connect again"), "{message}");
    assert_eq!(policies.checked(job(), true, Duration::ZERO), 0, "one that answers begins anew");
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

/// Connects a policy that answers pings; its task ends with the connection.
async fn connect(policies: &ConnectedPolicies) -> JoinHandle<()> {
    let (near, far) = tokio::io::duplex(4096);
    policies.reserve(job()).unwrap().attach(far);
    let mut policy = tokio_tungstenite::WebSocketStream::from_raw_socket(near, Role::Client, None).await;
    let hello = frame(FrameKind::Hello, 0, 0, br#"{"protocol": 1, "python": "", "numpy": ""}"#);
    policy.send(Message::Binary(hello.into())).await.unwrap();
    // Reads, and thereby answers pings.
    tokio::spawn(async move { while policy.next().await.is_some_and(|message| message.is_ok()) {} })
}

/// Waits until the policy's connection is closed.
async fn closed(policy: JoinHandle<()>) {
    timeout(PATIENCE, policy).await.expect("its connection is open").unwrap();
}

#[tokio::test]
async fn a_policy_that_must_leave_is_closed_after_its_episode_even_if_the_next_one_waits() {
    let waits = ConnectionWaits { again: Duration::from_secs(60), total: Duration::from_secs(60), ..WAITS };
    let policies = ConnectedPolicies::new(Handle::current(), waits);
    let policy = connect(&policies).await;
    let (socket, reservation) = policies.take(job()).await.unwrap();
    policies.leave(job());
    let next = policies.clone();
    let next = tokio::spawn(async move { next.take(job()).await.ok().unwrap() });
    while !policies.is_awaited(job()) {
        tokio::task::yield_now().await;
    }
    assert!(policies.reserve(job()).is_none(), "a second connection during the episode");
    reservation.park(socket);
    closed(policy).await;
    assert!(policies.connected().is_empty() && !next.is_finished());
    // The next connection is that of the episode that waits; one that no episode uses is closed at once.
    let policy = connect(&policies).await;
    let (socket, reservation) = next.await.unwrap();
    reservation.park(socket);
    policies.leave(job());
    closed(policy).await;
    assert!(policies.connected().is_empty());
}

#[tokio::test]
async fn a_parked_connection_belongs_to_the_next_episode() {
    let policies = ConnectedPolicies::new(Handle::current(), WAITS);
    drop(connect(&policies).await);
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
