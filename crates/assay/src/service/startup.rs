//! Startup steps that concern the machine: limits, the data folder, the first key, warnings.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use assay_api::OsEntropy;
use assay_api::keys::{Bootstrap, bootstrap};
use assay_model::{Clock, SystemClock};
use assay_store::Records;
use assay_worker::Engine;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::printing::complain;

/// Raises the limit on open files to the maximum allowed: every client needs a descriptor, and the default limit is
/// low. Processes in jails have their own limit.
pub(super) fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        complain!("assay: warning: the limit on open files could not be raised: {error}");
    }
}

/// Warns the operator about weak isolation.
pub(super) fn warn_of_weak_isolation(engine: &Engine) {
    match (engine.runs_policies(), engine.isolation_warning()) {
        (Err(refusal), _) => complain!("assay: uploaded policies are refused: {refusal}"),
        (Ok(()), Some(_)) => {
            complain!("assay: WARNING: untrusted policies run in weaker isolation ({})", engine.isolation());
        }
        (Ok(()), None) => {}
    }
}

/// Creates the data folder, accessible to this user only, and returns its absolute path.
pub(super) fn data_folder(path: &Path) -> anyhow::Result<PathBuf> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("--data: can't create {}", path.display()))?;
    path.canonicalize().with_context(|| format!("--data: can't open {}", path.display()))
}

/// Creates the first admin key if there is none, and prints where it is.
pub(super) async fn create_first_key(records: &dyn Records, data: &Path) -> anyhow::Result<()> {
    let given = std::env::var("ASSAY_BOOTSTRAP_KEY").ok();
    match bootstrap(records, data, given.as_deref(), &OsEntropy, SystemClock.now()).await? {
        Bootstrap::NotNeeded => {}
        Bootstrap::FromEnvironment => complain!("assay: the first key was taken from ASSAY_BOOTSTRAP_KEY"),
        Bootstrap::Written(path) => complain!("assay: an admin key was written to {}", path.display()),
    }
    Ok(())
}
