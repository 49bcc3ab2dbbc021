//! `assay serve` from the view of a client and an operator: the real program on loopback, real jails, real SQLite.

#![expect(clippy::unwrap_used, reason = "tests")]

mod adapters;
mod after;
mod arena;
mod attempts;
mod backup;
mod bucket;
mod cancelling;
mod closing;
mod community;
mod connecting;
mod events;
mod fetching;
mod folder;
mod full;
mod jobs;
mod judge;
mod keys;
mod migrating;
mod models;
mod monitoring;
mod once;
mod operations;
mod outages;
mod own_servers;
mod packed;
mod postgres;
mod remote_operators;
mod retention;
mod servers;
mod settings;
mod several_servers;
mod sleepers;
mod spare;
mod stopping;
mod strangers;
mod upgrades;
mod videos;
mod webhooks;
mod workers;

use std::time::Duration;

use assay_model::{JobStage, JobStatus};
use assay_testkit::{Account, Answer, Assay, Client, PATIENCE, ServedJob, Server, SharedServer, wait_for};
use serde_json::Value;

const CARTPOLE: &str = "cartpole_keepin";
/// Maximum time of a job of a few episodes, beside those of other tests.
const JOB_LIMIT: Duration = PATIENCE;
/// Maximum time until an episode is rendered, since everything else on the machine has priority.
const VIDEO_LIMIT: Duration = Duration::from_secs(600);
/// Maximum time of a complete stop after SIGTERM, on a quiet machine.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// Acts once a tenth of a second, so that an episode takes 50 s.
const SLOW: &[u8] =
    b"import time\nimport numpy as np\n\ndef policy(observation):\n    time.sleep(0.1)\n    return np.zeros(1)\n";

fn assay() -> Assay {
    Assay::new(env!("CARGO_BIN_EXE_assay"))
}

/// Waits until all of the job is rendered, and returns it.
#[track_caller]
fn drawn_job(client: &Client, id: &str) -> ServedJob {
    let ended = client.ended_job(id, JOB_LIMIT);
    assert_eq!(ended.status, JobStatus::Completed, "{:?}", ended.error_message);
    wait_for("videos", VIDEO_LIMIT, || Some(client.job(id)).filter(|job| job.progress.stage == JobStage::Done))
}

/// Environment variable with which tests use the intervals of production instead of shorter ones.
const PRODUCTION_INTERVALS: &str = "ASSAY_PRODUCTION_INTERVALS";

/// Returns true if tests use the intervals of production.
fn has_production_intervals() -> bool {
    std::env::var_os(PRODUCTION_INTERVALS).is_some()
}

/// Returns the settings of shorter intervals, such as `intervals.lane_lease_s=3`; none if those of production are used.
fn shorter<const N: usize>(settings: [&'static str; N]) -> Vec<&'static str> {
    settings.into_iter().filter(|_| !has_production_intervals()).collect()
}

/// Returns the arguments for these settings.
fn set<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    settings.iter().flat_map(|setting| ["--set", setting]).collect()
}

/// Returns the server of this kind that tests share (`shared_servers.toml`), and an account of this test there. For
/// tests that look only at what belongs to their account; others are in the list of `own_servers`.
#[track_caller]
fn shared_server(kind: &str) -> (SharedServer, Account) {
    let server = SharedServer::of(kind, assay);
    let account = server.account(&["read", "verify", "submit", "publish"]);
    (server, account)
}

/// Replays an episode of a job. A server replays for a few accounts at the same time, so the turn may have to be
/// waited for.
#[track_caller]
fn replay(client: &Client, path: &str, wish: &Value) -> Answer {
    wait_for("the turn to replay", JOB_LIMIT, || {
        let answer = client.post_json(path, wish);
        (!(answer.status == 503 && answer.text.contains("too many replays"))).then_some(answer)
    })
}

/// Starts a server on the folder `data`. Returns it and a client with its first key.
#[track_caller]
fn serve(assay: &Assay) -> (Server, Client) {
    serve_with(assay, &[])
}

/// Like [`serve`], with these settings.
#[track_caller]
fn serve_with(assay: &Assay, settings: &[&str]) -> (Server, Client) {
    let server = assay.serve(&assay.path("data"), &[&["--lanes", "2"][..], &set(settings)].concat());
    let key = std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    let client = server.client(&key);
    (server, client)
}
