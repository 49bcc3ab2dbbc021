//! The installation and the engine that a command uses.

use std::path::PathBuf;

use assay_model::Isolation;
use assay_worker::{Engine, EngineOptions, Installation};

use crate::exit::{Failure, OrFail};

/// Returns the installation in `ASSAY_HOME`, or else the one that this program belongs to.
pub(super) fn installation() -> Result<Installation, Failure> {
    Installation::find(std::env::var_os("ASSAY_HOME").map(PathBuf::from)).or_usage()
}

/// Starts an engine with `lanes` lanes (by default one per processor), which runs policies in no tier weaker than
/// `accepted`.
pub(super) fn engine(installation: &Installation, lanes: Option<u16>, accepted: Isolation) -> Result<Engine, Failure> {
    let lanes = lanes.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    Engine::start(installation, EngineOptions { lanes, accepted }).or_internal()
}
