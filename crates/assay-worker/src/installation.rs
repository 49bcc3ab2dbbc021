//! Where the pieces of an installation lie.

use std::path::{Path, PathBuf};

/// The folders and programs that evaluations need.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The folder that holds `scenarios/`, `robots/`, `python/` and `vendor/`.
    pub home: PathBuf,
    /// The lane program.
    pub lane: PathBuf,
}

/// A piece that is missing.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// Nothing that looks like an installation.
    #[error("no scenarios were found beside the program or here; set ASSAY_HOME to the folder that holds scenarios/")]
    NoHome,
    /// The lane program is not beside ours.
    #[error("{} is missing: run `make build`", .0.display())]
    NoLane(PathBuf),
    /// Our own path can't be told.
    #[error("the program's own path")]
    OwnPath(#[source] std::io::Error),
}

impl Installation {
    /// Finds the installation: `home` if given (`ASSAY_HOME`), else the nearest folder above the program, the current
    /// folder, `/usr/share/assay`, or the source tree that the program was built from.
    ///
    /// # Errors
    /// [`InstallationError`] says what is missing.
    pub fn find(home: Option<PathBuf>) -> Result<Self, InstallationError> {
        let program = std::env::current_exe().map_err(InstallationError::OwnPath)?;
        let home = match home {
            Some(home) => home,
            None => Self::home(&program)?,
        };
        let lane = program.with_file_name("assay-lane");
        if !lane.is_file() {
            return Err(InstallationError::NoLane(lane));
        }
        Ok(Self { home, lane })
    }

    /// Whether it is found without `ASSAY_HOME` from whatever folder the program is started in.
    #[must_use]
    pub fn is_found_from_anywhere(&self) -> bool {
        let found = std::env::current_exe().ok().and_then(|program| Self::nearest(&program, None));
        found.is_some() && found == self.home.canonicalize().ok()
    }

    fn home(program: &Path) -> Result<PathBuf, InstallationError> {
        Self::nearest(program, std::env::current_dir().ok()).ok_or(InstallationError::NoHome)
    }

    fn nearest(program: &Path, here: Option<PathBuf>) -> Option<PathBuf> {
        let is_home = |path: &Path| path.join("scenarios/collections.toml").is_file();
        let above = program.ancestors().skip(1).map(Path::to_owned);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        above
            .chain(here)
            .chain([PathBuf::from("/usr/share/assay"), source])
            .find(|path| is_home(path))
            .and_then(|path| path.canonicalize().ok())
    }

    /// Folder of the built-in scenarios.
    #[must_use]
    pub fn scenarios(&self) -> PathBuf {
        self.home.join("scenarios")
    }

    /// Folder of the robots.
    #[must_use]
    pub fn robots(&self) -> PathBuf {
        self.home.join("robots")
    }

    /// The physics library, pinned by the set-up.
    #[must_use]
    pub fn libmujoco(&self) -> PathBuf {
        self.home.join("vendor/mujoco/lib/libmujoco.so.3.17.0")
    }

    /// The Python that runs policies.
    #[must_use]
    pub fn python(&self) -> PathBuf {
        self.home.join("vendor/python")
    }

    /// The program that speaks for a policy.
    #[must_use]
    pub fn runner(&self) -> PathBuf {
        self.home.join("python/runner")
    }
}
