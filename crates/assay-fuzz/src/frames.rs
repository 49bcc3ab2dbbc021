//! Frames between a policy and its lane, a lane and its worker, and through the relay to a policy server.

use std::sync::LazyLock;

use assay_model::lane::{Rendered, Reply, ScenarioCheck};
use assay_model::{Comparison, EpisodePlots};
use tokio::runtime::{Builder, Runtime};

use crate::pieces::pieces;

/// Parses the bytes as answers of a policy's process, as lane and worker do.
pub(crate) fn policy(data: &[u8]) {
    assay_lane::fuzzing::policy_answers(data).expect("pipes");
    assay_policy::fuzzing::runner_frames(data).expect("pipes");
}

/// Kind of a relay whose policy server connects; the others are called, over HTTP (even) or a WebSocket (odd).
const CONNECTED: u8 = 2;

/// Runs a relay. The input contains its kind (the first byte), the frames from the lane, and the server's answers.
pub(crate) fn relay(data: &[u8]) {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));
    let Some((kind, data)) = data.split_first() else { return };
    let parts = pieces(data);
    let answers = parts[1..].iter().map(|answer| answer.to_vec()).collect();
    let relayed = match *kind {
        CONNECTED => RUNTIME.block_on(assay_policy::fuzzing::connected(parts[0], answers)),
        kind => RUNTIME.block_on(assay_policy::fuzzing::relay(kind & 1 == 1, parts[0], answers)),
    };
    relayed.expect("sockets");
}

/// Parses messages of a lane, which are untrusted because it loads untrusted scenarios.
pub(crate) fn lane(data: &[u8]) {
    if let Ok(Reply::Done(done)) = serde_json::from_slice::<Reply>(data) {
        serde_json::to_vec(&done.result).expect("a result is JSON");
    }
    drop(serde_json::from_slice::<ScenarioCheck>(data));
    drop(serde_json::from_slice::<Rendered>(data));
    drop(serde_json::from_slice::<Comparison>(data));
    drop(serde_json::from_slice::<EpisodePlots>(data));
}
