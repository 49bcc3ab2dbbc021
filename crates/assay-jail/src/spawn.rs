//! Starting a jail: in namespaces by bubblewrap, or without them.

use std::io::PipeWriter;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use assay_model::Isolation;

use crate::stage::{Closed, check_reachable};
use crate::{Child, Jail, JailSpec, namespaces, without_namespaces};

/// A host user without rights, for when we are root: limits and namespaces do not hold root.
const NOBODY: u32 = 65534;

/// A jail that could not be started. Always our fault, or the machine's.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// A bind that is not there.
    #[error("the jail's source {path} does not exist")]
    NoSource {
        /// On the host.
        path: PathBuf,
    },
    /// A bind that the jail's user can't reach.
    #[error("the jail's source can't be used")]
    Unreachable(#[from] Closed),
    /// A system call of ours failed.
    #[error("can't start a jail: {doing}")]
    Io {
        /// What we were doing.
        doing: &'static str,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The tier needs it.
    #[error("this kernel has no Landlock")]
    NoLandlock,
    /// bubblewrap refused.
    #[error("bubblewrap could not make the jail: {message}")]
    Bubblewrap {
        /// What it printed.
        message: String,
    },
}

/// The host user that jails run as when it is not ourselves: set when we are root.
#[must_use]
pub fn jail_uid() -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(NOBODY)
}

impl Jail {
    /// Starts a jailed process. Call it from a thread that outlives the child (see the crate's documentation).
    ///
    /// # Errors
    /// [`SpawnError`]. A program that can't be executed is no error: it shows in the child's exit and log.
    pub fn spawn(&self, spec: JailSpec) -> Result<Child, SpawnError> {
        check_sources(&spec)?;
        match self.isolation() {
            Isolation::Namespaces => namespaces::spawn(self, spec),
            Isolation::Landlock | Isolation::None => without_namespaces::spawn(self, spec),
        }
    }
}

/// Gives the program its descriptors 0, 1 and 2; what it was not given a place for goes to the log.
pub(crate) fn connect(
    command: &mut Command,
    (stdin, stdout): (Option<OwnedFd>, Option<OwnedFd>),
    log: PipeWriter,
) -> std::io::Result<()> {
    command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
    command.stdout(match stdout {
        Some(stdout) => Stdio::from(stdout),
        None => Stdio::from(log.try_clone()?),
    });
    command.stderr(log);
    Ok(())
}

fn check_sources(spec: &JailSpec) -> Result<(), SpawnError> {
    for bind in &spec.binds {
        if !bind.host.exists() {
            return Err(SpawnError::NoSource { path: bind.host.clone() });
        }
        check_reachable(&bind.host)?;
    }
    Ok(())
}

pub(crate) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> SpawnError {
    move |source| SpawnError::Io { doing, source }
}
