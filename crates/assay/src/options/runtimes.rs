//! The folder of runtimes that were added to an installation.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

/// Environment variable with the folder of a user's own runtimes.
const VARIABLE: &str = "ASSAY_RUNTIMES";
/// Name of the folder in the data folder of a service.
pub(crate) const RUNTIMES: &str = "runtimes";

/// Returns the folder of added runtimes: of the service with the data folder `data`, or else the user's own.
///
/// # Errors
/// There is no data folder, or the user has no home.
pub(crate) fn runtimes_of(data: Option<&Path>) -> anyhow::Result<PathBuf> {
    match data {
        Some(data) if !data.is_dir() => Err(anyhow!("--data {}: no such folder", data.display())),
        Some(data) => Ok(runtimes_in(data)),
        None => own_runtimes().ok_or_else(|| anyhow!("there is no home folder; set {VARIABLE}")),
    }
}

/// Returns the folder of the runtimes of the service with the data folder `data`, which may not exist yet.
pub(crate) fn runtimes_in(data: &Path) -> PathBuf {
    data.join(RUNTIMES)
}

/// Returns the folder of the user's own runtimes.
pub(crate) fn own_runtimes() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let shared = || named("XDG_DATA_HOME").or_else(|| Some(named("HOME")?.join(".local/share")));
    named(VARIABLE).or_else(|| Some(shared()?.join("assay/runtimes")))
}
