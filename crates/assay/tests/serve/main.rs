//! `assay serve` from the view of a client and an operator: the real program on loopback, real jails, real SQLite.

#![expect(clippy::unwrap_used, reason = "tests")]

mod adapters;
mod after;
mod arena;
mod attempts;
#[path = "../authority/mod.rs"]
mod authority;
mod backup;
mod bucket;
mod cancelling;
mod closing;
mod community;
mod connecting;
mod events;
mod folder;
mod full;
#[path = "../hostile/mod.rs"]
mod hostile;
mod jobs;
mod judge;
mod keys;
mod migrating;
mod models;
mod monitoring;
mod once;
mod operations;
mod outages;
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
use assay_testkit::{Assay, Client, ServedJob, Server, wait_for};

const CARTPOLE: &str = "cartpole_keepin";
/// Maximum time of a job of a few episodes, in a debug build on a busy machine.
const JOB_LIMIT: Duration = Duration::from_secs(90);
/// Maximum time until an episode is rendered, since everything else on the machine has priority.
const VIDEO_LIMIT: Duration = Duration::from_secs(600);
/// Maximum time of a complete stop after SIGTERM.
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

/// Starts a server on the folder `data`. Returns it and a client with its first key.
#[track_caller]
fn serve(assay: &Assay) -> (Server, Client) {
    let server = assay.serve(&assay.path("data"), &["--lanes", "2"]);
    let key = std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    let client = server.client(&key);
    (server, client)
}
