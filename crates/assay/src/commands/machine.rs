//! The installation and the engine that a command uses.

use std::path::{Path, PathBuf};

use assay_model::Isolation;
use assay_worker::{Engine, EngineOptions, Installation};

use crate::exit::{Failure, OrFail};
use crate::options::{own_runtimes, runtimes_in};

/// Returns the installation in `ASSAY_HOME`, or else the one that this program belongs to.
pub(super) fn installation() -> Result<Installation, Failure> {
    let mut installation = Installation::find(std::env::var_os("ASSAY_HOME").map(PathBuf::from)).or_usage()?;
    installation.added_runtimes = own_runtimes().into_iter().collect();
    Ok(installation)
}

/// Returns the installation with the runtimes of the service that has the data folder `data`.
pub(super) fn installation_of(data: &Path) -> Result<Installation, Failure> {
    let mut installation = installation()?;
    installation.added_runtimes = vec![runtimes_in(data)];
    Ok(installation)
}

/// Starts an engine for one policy with `lanes` lanes (by default one per processor), which runs policies in no tier
/// weaker than `accepted`.
pub(super) fn engine(installation: &Installation, lanes: Option<u16>, accepted: Isolation) -> Result<Engine, Failure> {
    start(installation, EngineOptions { policies: Some(1), ..options(lanes, accepted) })
}

/// Starts an engine as [`engine`] does, but for any number of policies.
pub(super) fn service_engine(
    installation: &Installation,
    lanes: Option<u16>,
    accepted: Isolation,
) -> Result<Engine, Failure> {
    start(installation, options(lanes, accepted))
}

fn options(lanes: Option<u16>, accepted: Isolation) -> EngineOptions {
    let lanes = lanes.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    EngineOptions { accepted, ..EngineOptions::new(lanes) }
}

fn start(installation: &Installation, options: EngineOptions) -> Result<Engine, Failure> {
    Engine::start(installation, options).or_internal()
}
