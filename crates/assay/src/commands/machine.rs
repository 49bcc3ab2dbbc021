//! The installation and the engine that a command works with.

use std::path::PathBuf;

use assay_model::Isolation;
use assay_worker::{Engine, EngineOptions, Installation};

use crate::exit::{Failure, OrFail};

/// The installation that this program belongs to (`ASSAY_HOME`, or found).
pub(super) fn installation() -> Result<Installation, Failure> {
    Installation::find(std::env::var_os("ASSAY_HOME").map(PathBuf::from)).usage()
}

/// The engine with `lanes` lanes, one per processor where not given, that runs policies in no tier weaker than
/// `accepted`.
pub(super) fn engine(installation: &Installation, lanes: Option<u16>, accepted: Isolation) -> Result<Engine, Failure> {
    let lanes = lanes.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    Engine::start(installation, EngineOptions { lanes, accepted }).ours()
}
