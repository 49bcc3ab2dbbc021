//! What starts jails: its tier, and what it needs for it.

use std::path::{Path, PathBuf};

use assay_model::Isolation;

use crate::filter::{FilterError, Filters};
use crate::{probe, ruleset};

/// Where to look when `PATH` has no `bwrap`.
const USUAL_PLACES: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// Starts jails of one tier.
#[derive(Debug)]
pub struct Jail {
    isolation: Isolation,
    bwrap: Option<PathBuf>,
    filters: Filters,
    /// Where folders of links are made.
    links_in: PathBuf,
}

/// Why no jail can be started here.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// Not installed.
    #[error("bubblewrap (bwrap) is not installed; on Debian or Ubuntu: apt-get install bubblewrap")]
    NoBubblewrap,
    /// Not in the kernel.
    #[error("this kernel has no Landlock, or it is switched off (lsm= on its command line)")]
    NoLandlock,
    /// The filters.
    #[error("no system call filter")]
    Filter(#[from] FilterError),
}

/// What a machine can do, and what it can't.
#[derive(Debug)]
pub struct Strongest {
    /// The strongest tier that works.
    pub jail: Jail,
    /// Why each stronger one does not.
    pub missing: Vec<(Isolation, String)>,
}

impl Jail {
    /// The strongest tier: finds bubblewrap and compiles the filters.
    ///
    /// # Errors
    /// [`JailError`] when there is no bubblewrap, or no filter for this processor.
    pub fn find() -> Result<Self, JailError> {
        Self::of(Isolation::Namespaces)
    }

    /// Jails of a tier. Whether they can be started here only [`Self::strongest`] tries.
    ///
    /// # Errors
    /// [`JailError`] when there is no bubblewrap or no Landlock for it, or no filter for this processor.
    pub fn of(isolation: Isolation) -> Result<Self, JailError> {
        let bwrap = match isolation {
            Isolation::Namespaces => Some(find_bubblewrap().ok_or(JailError::NoBubblewrap)?),
            Isolation::Landlock if ruleset::abi() == 0 => return Err(JailError::NoLandlock),
            Isolation::Landlock | Isolation::None => None,
        };
        Ok(Self { isolation, bwrap, filters: Filters::compile()?, links_in: std::env::temp_dir() })
    }

    /// The strongest tier in which a program really runs on this machine.
    ///
    /// # Errors
    /// [`JailError`]: there are not even filters.
    pub fn strongest() -> Result<Strongest, JailError> {
        let mut missing = Vec::new();
        for tier in [Isolation::Namespaces, Isolation::Landlock] {
            match Self::of(tier).map_err(|error| probe::chain(&error)).and_then(|jail| jail.tried()) {
                Ok(jail) => return Ok(Strongest { jail, missing }),
                Err(why) => missing.push((tier, why)),
            }
        }
        Ok(Strongest { jail: Self::of(Isolation::None)?, missing })
    }

    fn tried(self) -> Result<Self, String> {
        probe::try_jail(&self, crate::Profile::Policy).map(|_| self)
    }

    /// How its processes are kept apart.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Whether a program of its jails that seals itself is given a Landlock ruleset: the tier has it, and the kernel too.
    #[must_use]
    pub fn has_landlock(&self) -> bool {
        self.isolation != Isolation::None && ruleset::abi() > 0
    }

    /// Makes the folders of links that jails without namespaces need in `folder`, which its owner sweeps, and not in the
    /// system's folder for temporary files, where a process that is killed leaves them.
    #[must_use]
    pub fn with_links_in(self, folder: &Path) -> Self {
        Self { links_in: folder.to_owned(), ..self }
    }

    pub(crate) fn links_in(&self) -> &Path {
        &self.links_in
    }

    /// bubblewrap, where it is used.
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
        .chain(USUAL_PLACES.map(PathBuf::from))
        .map(|folder| folder.join("bwrap"))
        .find(|file| file.is_absolute() && file.is_file())
}
