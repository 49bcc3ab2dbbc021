//! Locates the files of an installation.

use std::path::{Path, PathBuf};

use assay_jail::default_cache_root;
use assay_policy::RuntimeLibrary;

/// The source tree, for programs that run from it. Programs that are installed elsewhere (`tools/dist`) are built with
/// `ASSAY_RELOCATABLE`, and contain no path of the machine that built them.
const SOURCE_TREE: Option<&str> = match option_env!("ASSAY_RELOCATABLE") {
    Some(_) => None,
    None => Some(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")),
};

/// The folders and programs that evaluations need.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The folder that contains `scenarios/`, `robots/`, `python/` and `vendor/`.
    pub home: PathBuf,
    /// The lane program.
    pub lane: PathBuf,
    /// Folders with runtimes in addition to those that are shipped.
    pub added_runtimes: Vec<PathBuf>,
}

/// An error while locating an installation.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// No installation was found.
    #[error("no scenarios found next to the program or here; set ASSAY_HOME to the folder that contains scenarios/")]
    NoHome,
    /// The lane program is not next to the current one.
    #[error("{} is missing: run `make build`", .0.display())]
    NoLane(PathBuf),
    /// The path of the current program is unknown.
    #[error("could not determine the path of this program")]
    OwnPath(#[source] std::io::Error),
}

impl Installation {
    /// Finds the installation: `home` if given (`ASSAY_HOME`), else the nearest folder above the program, the current
    /// folder, `/usr/share/assay`, or the source tree if the program was built for it.
    ///
    /// # Errors
    /// [`InstallationError`] names the missing file.
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
        Ok(Self { home, lane, added_runtimes: Vec::new() })
    }

    /// Returns true if the installation is found without `ASSAY_HOME`, whatever the current folder.
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
        above
            .chain(here)
            .chain([PathBuf::from("/usr/share/assay")])
            .chain(SOURCE_TREE.map(PathBuf::from))
            .find(|path| is_home(path))
            .and_then(|path| path.canonicalize().ok())
    }

    /// Returns the folder of the built-in scenarios.
    #[must_use]
    pub fn scenarios(&self) -> PathBuf {
        self.home.join("scenarios")
    }

    /// Returns the folder of the robots.
    #[must_use]
    pub fn robots(&self) -> PathBuf {
        self.home.join("robots")
    }

    /// Returns the path of the physics library, in the version that the setup pins.
    #[must_use]
    pub fn libmujoco(&self) -> PathBuf {
        self.home.join("vendor/mujoco/lib/libmujoco.so.3.17.0")
    }

    /// Returns the folder of the runtimes that are shipped.
    #[must_use]
    pub fn shipped_runtimes(&self) -> PathBuf {
        self.home.join("vendor/runtimes")
    }

    /// Returns the runtimes of policies: those that are shipped, and those that were added.
    #[must_use]
    pub fn runtimes(&self) -> RuntimeLibrary {
        let folders = std::iter::once(self.shipped_runtimes()).chain(self.added_runtimes.clone());
        RuntimeLibrary::new(folders.collect(), default_cache_root())
    }

    /// Returns the folder of the program that builds runtimes.
    #[must_use]
    pub fn runtime_builder(&self) -> PathBuf {
        self.home.join("python/build_runtime")
    }

    /// Returns the folder with lists of requirements of runtimes, one file `NAME.txt` for each.
    #[must_use]
    pub fn runtime_lists(&self) -> PathBuf {
        self.home.join("requirements/runtimes")
    }

    /// Returns the path of the runner.
    #[must_use]
    pub fn runner(&self) -> PathBuf {
        self.home.join("python/runner")
    }
}
