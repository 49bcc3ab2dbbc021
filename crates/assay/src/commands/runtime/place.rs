//! The place of a runtime: in the installation, in the user's own folder, or in the data folder of a service.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use assay_model::RuntimeName;
use assay_policy::{InstalledRuntime, RuntimeLibrary};
use assay_worker::Installation;
use clap::Args;

use crate::exit::{Failure, OrFail};
use crate::options::runtimes_of;

/// The place of added runtimes.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Use the runtimes of the service with this data folder [default: your own, in $ASSAY_RUNTIMES or
    /// ~/.local/share/assay/runtimes]
    #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
    pub(super) data: Option<PathBuf>,
}

impl PlaceArgs {
    /// Returns the folder of added runtimes.
    pub(super) fn folder(&self) -> Result<PathBuf, Failure> {
        runtimes_of(self.data.as_deref()).or_usage()
    }

    /// Returns the installation with these runtimes.
    pub(super) fn installation(&self) -> Result<Installation, Failure> {
        let mut installation = crate::commands::machine::installation()?;
        installation.added_runtimes = vec![self.folder()?];
        Ok(installation)
    }
}

/// Finds the runtime that the user means by NAME or NAME@SHA256.
pub(super) fn find(library: &RuntimeLibrary, wanted: &str) -> Result<InstalledRuntime, Failure> {
    let (name, digits) = wanted.split_once('@').map_or((wanted, None), |(name, digits)| (name, Some(digits)));
    let name: RuntimeName = name.parse().or_usage()?;
    let Some(digits) = digits else { return library.current(&name).or_usage() };
    let is_meant = |runtime: &InstalledRuntime| {
        runtime.manifest.name == name && runtime.manifest.sha256.to_string().starts_with(digits)
    };
    let mut found: Vec<_> = library.list().into_iter().filter(is_meant).collect();
    match (found.pop(), found.is_empty()) {
        (Some(runtime), true) => Ok(runtime),
        (Some(_), false) => Err(Failure::Usage(anyhow!("{wanted} are several versions; give more digits"))),
        (None, _) => Err(Failure::Usage(anyhow!("{wanted} is not installed; see assay runtime list"))),
    }
}

/// Returns true if `runtime` was added to `folder`; the others are part of the installation.
pub(super) fn is_in(folder: &Path, runtime: &InstalledRuntime) -> bool {
    runtime.folder.parent() == Some(folder)
}
