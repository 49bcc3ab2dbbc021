//! What an installation can run: jails, the lane program, the pool of warm interpreters, the scenarios.

use std::io;
use std::path::{Path, PathBuf};

use assay_jail::{Jail, Program, default_cache_root, native_program, stage_readable};
use assay_model::Fingerprint;
use assay_policy::remote::{Guard, Remote, RemoteLimits};
use assay_policy::{Pool, PoolConfig, Runtime};
use assay_scenario::Library;
use tempfile::TempDir;

use crate::scratch::Scratch;
use crate::{Installation, fingerprint};

/// Where a lane program stands in its jail.
const LANE_INSIDE: &str = "/assay/assay-lane";

/// How much of the machine to use.
#[derive(Debug, Clone, Copy)]
pub struct EngineOptions {
    /// Lanes that run at the same time.
    pub lanes: usize,
}

/// Everything that lanes share.
#[derive(Debug)]
pub struct Engine {
    jail: Jail,
    lane: Program,
    robots: PathBuf,
    pool: Pool,
    remote: Remote,
    /// The pool's folder; dropped after the pool.
    _work: TempDir,
    /// Dropped after everything that lies in it.
    scratch: Scratch,
    library: Library,
    fingerprint: Fingerprint,
    cache_root: PathBuf,
    lanes: usize,
}

/// Why nothing can be run here.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No jail.
    #[error("policies and simulators can't be isolated here; see `assay doctor`")]
    Jail(#[from] assay_jail::JailError),
    /// The lane program can't be put into a jail.
    #[error("the lane program")]
    Lane(#[from] assay_jail::ProgramError),
    /// Files that the jail's user can't reach.
    #[error("files for the jail")]
    Stage(#[from] assay_jail::StageError),
    /// No Python for policies.
    #[error("the Python that runs policies")]
    Runtime(#[from] assay_policy::RuntimeError),
    /// The pool of interpreters did not start.
    #[error("the pool of interpreters")]
    Pool(#[from] assay_policy::PoolError),
    /// No threads to talk to policy servers.
    #[error("the threads that talk to policy servers")]
    Remote(#[source] io::Error),
    /// A broken scenario in the library.
    #[error("the scenario library")]
    Library(#[from] assay_scenario::LibraryError),
    /// No folder for temporary files.
    #[error("a temporary folder")]
    Scratch(#[source] io::Error),
    /// A file that the fingerprint needs.
    #[error("the fingerprint: {0}")]
    Fingerprint(String, #[source] io::Error),
}

impl Engine {
    /// Prepares everything that does not depend on a job; the pool begins to warm up.
    ///
    /// # Errors
    /// [`EngineError`] names the missing piece.
    pub fn start(installation: &Installation, options: EngineOptions) -> Result<Self, EngineError> {
        let cache_root = default_cache_root();
        let jail = Jail::find()?;
        let lane = native_program(&installation.lane, Path::new(LANE_INSIDE), &cache_root)?;
        let runtime = Runtime::at(&installation.python(), &cache_root)?;
        let fingerprint = fingerprint::collect(&installation.libmujoco(), &runtime.manifest.numpy)?;
        // One member runs and one loads on each lane; one more is warm when both are taken.
        let members = options.lanes + 1;
        let scratch = Scratch::new().map_err(EngineError::Scratch)?;
        let work = scratch.folder("policies").map_err(EngineError::Scratch)?;
        let pool = Pool::new(PoolConfig::new(members, runtime, work.path()))?;
        Ok(Self {
            jail,
            lane,
            robots: stage_readable(&installation.robots(), &cache_root)?,
            pool,
            remote: remote(Guard::new(Vec::new())).map_err(EngineError::Remote)?,
            _work: work,
            scratch,
            library: Library::open(&installation.scenarios(), &installation.robots())?,
            fingerprint,
            cache_root,
            lanes: options.lanes,
        })
    }

    /// Lets `guard` decide which policy servers may be talked to; without this only public addresses are.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn guarded_by(self, guard: Guard) -> Result<Self, EngineError> {
        Ok(Self { remote: remote(guard).map_err(EngineError::Remote)?, ..self })
    }

    /// The built-in scenarios.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// What results depend on, on this machine.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// Lanes that may run at the same time.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// A new folder for temporary files; gone when dropped, at the latest with the engine.
    ///
    /// # Errors
    /// It can't be made.
    pub fn scratch(&self, what: &str) -> io::Result<TempDir> {
        self.scratch.folder(what)
    }

    pub(crate) fn jail(&self) -> &Jail {
        &self.jail
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Talks to policy servers.
    #[must_use]
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    pub(crate) fn lane_program(&self) -> &Program {
        &self.lane
    }

    pub(crate) fn robots(&self) -> &Path {
        &self.robots
    }

    /// The scenario's folder where jails can read it.
    pub(crate) fn staged(&self, folder: &Path) -> Result<PathBuf, assay_jail::StageError> {
        stage_readable(folder, &self.cache_root)
    }
}

fn remote(guard: Guard) -> io::Result<Remote> {
    Remote::new(guard, RemoteLimits::default())
}

/// The processor that lane number `lane` is pinned to.
pub(crate) fn core_of(lane: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    lane % cores
}
