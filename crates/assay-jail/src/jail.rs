//! [`Jail`], which starts jails of one tier.

use std::path::{Path, PathBuf};

use assay_model::Isolation;

use crate::filter::{FilterError, Filters};
use crate::ruleset;

/// Folders to search if `PATH` has no `bwrap`.
const USUAL_FOLDERS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// Starts jails of one tier.
#[derive(Debug)]
pub struct Jail {
    isolation: Isolation,
    bwrap: Option<PathBuf>,
    filters: Filters,
    /// The folder in which folders of links are created.
    links_in: PathBuf,
}

/// A requirement of jails that this machine does not meet.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// bubblewrap is not installed.
    #[error("bubblewrap (bwrap) is not installed; on Debian or Ubuntu: apt-get install bubblewrap")]
    NoBubblewrap,
    /// The kernel has no Landlock.
    #[error("this kernel has no Landlock, or it is disabled (lsm= on its command line)")]
    NoLandlock,
    /// The filters could not be compiled.
    #[error("could not compile the system call filter")]
    Filter(#[from] FilterError),
}

impl Jail {
    /// Creates jails of the strongest tier: finds bubblewrap and compiles the filters.
    ///
    /// # Errors
    /// [`JailError`] if there is no bubblewrap, or no filter for this processor.
    pub fn find() -> Result<Self, JailError> {
        Self::of(Isolation::Namespaces)
    }

    /// Creates jails of a tier. Only [`Self::strongest`] tests whether they can be started on this machine.
    ///
    /// # Errors
    /// [`JailError`] if there is no bubblewrap or no Landlock for the tier, or no filter for this processor.
    pub fn of(isolation: Isolation) -> Result<Self, JailError> {
        let bwrap = match isolation {
            Isolation::Namespaces => Some(find_bubblewrap().ok_or(JailError::NoBubblewrap)?),
            Isolation::Landlock if ruleset::abi() == 0 => return Err(JailError::NoLandlock),
            Isolation::Landlock | Isolation::None => None,
        };
        Ok(Self { isolation, bwrap, filters: Filters::compile()?, links_in: std::env::temp_dir() })
    }

    /// Returns the isolation of its processes.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Returns true if a program that seals itself is given a Landlock ruleset: both the tier and the kernel have
    /// Landlock.
    #[must_use]
    pub fn has_landlock(&self) -> bool {
        self.isolation != Isolation::None && ruleset::abi() > 0
    }

    /// Creates the folders of links that jails without namespaces need in `folder`, which its owner cleans up, instead
    /// of the system's folder for temporary files, where a killed process leaves them behind.
    #[must_use]
    pub fn with_links_in(self, folder: &Path) -> Self {
        Self { links_in: folder.to_owned(), ..self }
    }

    pub(crate) fn links_in(&self) -> &Path {
        &self.links_in
    }

    /// Returns the path of bubblewrap, if the tier uses it.
    #[must_use]
    pub fn bubblewrap(&self) -> Option<&Path> {
        self.bwrap.as_deref()
    }

    pub(crate) fn filters(&self) -> &Filters {
        &self.filters
    }
}

fn find_bubblewrap() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(USUAL_FOLDERS.map(PathBuf::from))
        .map(|folder| folder.join("bwrap"))
        .find(|file| file.is_absolute() && file.is_file())
}
