//! Machinery that runs evaluations: jails, the lane program, the pool of warm interpreters, the scenarios.

pub(crate) mod engine_error;
mod fingerprint;
pub(crate) mod installation;
pub(crate) mod models;
pub(crate) mod not_isolated;
pub(crate) mod options;
mod pools;
pub(crate) mod scenario_versions;
mod scratch;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use assay_jail::{Jail, JailPath, Program, StrongestJail, default_cache_root, native_program, stage_readable};
use assay_model::{Fingerprint, Isolation, JobHeader, PolicyIdentity, RuntimeVersion, ScenarioId, Sha256Digest};
use assay_policy::remote::{AddressGuard, RemoteLimits, ServerConnector};
use assay_policy::{NoRuntime, PolicyDeclaration, PoolConfig, RuntimeLibrary};
use assay_scenario::{Library, Scenario};
use assay_store::ScenarioFiles;
use rustix::thread::CpuSet;
use tempfile::TempDir;

use self::engine_error::EngineError;
use self::pools::Pools;
use self::scenario_versions::{ScenarioGone, ScenarioVersions};
use self::scratch::Scratch;
use crate::{EngineOptions, Installation, NotIsolated, VideoFormat, WallBudget};

/// Path of the lane program inside its jail.
const LANE_INSIDE: &str = "/assay/assay-lane";
/// Maximum number of idle fork servers of a runtime; each serves a whole job.
const MAX_IDLE_SERVERS: usize = 2;

/// Maximum number of folders of scenarios and robots that stay readable for jails between jobs.
const MAX_STAGED: usize = 16;

/// State shared by all lanes.
#[derive(Debug)]
pub struct Engine {
    jail: Jail,
    lane: Program,
    pools: Result<Pools, NotIsolated>,
    remote: ServerConnector,
    /// The pool's folder; dropped after the pool.
    _work: TempDir,
    /// Dropped after everything inside it.
    scratch: Scratch,
    library: Library,
    versions: Option<ScenarioVersions>,
    runtimes: RuntimeLibrary,
    /// Fingerprint for policies in the runtime `base`.
    fingerprint: Fingerprint,
    cache_root: PathBuf,
    /// Copies of scenarios that jobs needed last, which are removed otherwise when no lane uses them.
    recently_staged: Mutex<VecDeque<JailPath>>,
    lanes: usize,
    wall_budget: WallBudget,
    video_format: VideoFormat,
}

/// Locations of a scenario's files that jails can read.
#[derive(Debug, Clone)]
pub(crate) struct Staged {
    /// The scenario's folder.
    pub(crate) scenario: JailPath,
    /// The folder that contains a folder for each of its robots.
    pub(crate) robots: JailPath,
}

impl Engine {
    /// Starts the engine: prepares everything that does not depend on a job, and begins to warm up the pool.
    ///
    /// # Errors
    /// [`EngineError`] names the missing piece.
    pub fn start(installation: &Installation, options: EngineOptions) -> Result<Self, EngineError> {
        let cache_root = default_cache_root();
        let StrongestJail { jail, missing } = Jail::strongest()?;
        let isolation = jail.isolation();
        if isolation != Isolation::Namespaces {
            // Simulators are trusted code, so they run in whatever isolation is available.
            tracing::warn!(%isolation, why = %reasons(&missing), "running with weaker isolation than user namespaces");
        }
        // Use the installation's MuJoCo, not the one of the machine that built the programs.
        let (libmujoco, inside) = (installation.libmujoco(), Path::new(LANE_INSIDE));
        let lane = native_program(&installation.lane, libmujoco.parent(), inside, &cache_root)?;
        let runtimes = installation.runtimes();
        let runtime = runtimes.open(runtimes.base()?)?;
        let fingerprint = fingerprint::collect(&installation.libmujoco(), &runtime.manifest, isolation)?;
        // One warm interpreter for each lane, plus two, because the first episodes of a job may end before another
        // interpreter has started.
        let members = options.lanes + 2;
        let scratch = Scratch::new().map_err(EngineError::Scratch)?;
        let jail = jail.with_links_in(scratch.path());
        let work = scratch.folder("policies").map_err(EngineError::Scratch)?;
        let pools = if isolation <= options.accepted {
            let policies = options.policies;
            let servers = options.lanes.min(MAX_IDLE_SERVERS);
            let config = PoolConfig { servers, isolation, policies, ..PoolConfig::new(members, runtime, work.path()) };
            let pools = Pools::start(runtimes.clone(), config)?;
            if let Some(why) = pools.on_disk() {
                tracing::warn!(
                    %why,
                    "policy runtime is on disk: policies can exchange bits through the file names that they look up"
                );
            }
            Ok(pools)
        } else {
            Err(NotIsolated { strongest: isolation, why: reasons(&missing) })
        };
        Ok(Self {
            jail,
            lane,
            pools,
            remote: remote(AddressGuard::new(Vec::new())).map_err(EngineError::Remote)?,
            _work: work,
            scratch,
            library: Library::open(&installation.scenarios(), &installation.robots())?,
            versions: None,
            runtimes,
            fingerprint,
            cache_root,
            recently_staged: Mutex::default(),
            lanes: options.lanes,
            wall_budget: WallBudget::default(),
            video_format: VideoFormat::default(),
        })
    }

    /// Sets the guard that decides which policy servers may be contacted; by default only public addresses are.
    ///
    /// # Errors
    /// The system cannot create threads.
    pub fn guarded_by(self, guard: AddressGuard) -> Result<Self, EngineError> {
        Ok(Self { remote: remote(guard).map_err(EngineError::Remote)?, ..self })
    }

    /// Replaces the default times that a policy which connects has to introduce itself and to connect again.
    #[must_use]
    pub fn with_connection_waits(self, hello: Duration, again: Duration) -> Self {
        Self { remote: self.remote.with_connection_waits(hello, again), ..self }
    }

    /// Prepares policies for a service's simulator instead of lanes here: all actions of a policy server's answer are
    /// passed on at once. Every address that `guard` allows may be contacted.
    ///
    /// # Errors
    /// The system cannot create threads.
    pub fn forwarding(self, guard: AddressGuard) -> Result<Self, EngineError> {
        let remote = ServerConnector::forwarding_chunks(guard, RemoteLimits::default());
        Ok(Self { remote: remote.map_err(EngineError::Remote)?, ..self })
    }

    /// Replaces the default budget for sleeping policies.
    #[must_use]
    pub fn with_wall_budget(self, wall_budget: WallBudget) -> Self {
        Self { wall_budget, ..self }
    }

    /// Replaces the default size and frame rate of videos.
    #[must_use]
    pub fn with_video_format(self, video_format: VideoFormat) -> Self {
        Self { video_format, ..self }
    }

    /// Returns the size and frame rate of videos.
    #[must_use]
    pub fn video_format(&self) -> VideoFormat {
        self.video_format
    }

    /// Adds the scenarios that accounts published, and earlier versions of the built-in ones, from `files`; by default
    /// only the built-in ones are known.
    #[must_use]
    pub fn with_versions(self, files: ScenarioFiles) -> Self {
        Self { versions: Some(ScenarioVersions::new(files)), ..self }
    }

    /// Returns the version of a scenario that a job was accepted for.
    ///
    /// # Errors
    /// [`ScenarioGone`]: this version cannot be run, or can no longer be run.
    pub fn scenario(&self, id: &ScenarioId, digest: Sha256Digest) -> Result<Arc<Scenario>, ScenarioGone> {
        let installed = self.library.get(id).ok();
        if let Some(scenario) = installed.filter(|scenario| scenario.digest == digest) {
            return Ok(Arc::new(scenario.clone()));
        }
        let kept = self.versions.as_ref().map(|versions| versions.get(&self.library, id, digest));
        match kept.unwrap_or_else(|| Err(ScenarioGone::Missing(id.clone()))) {
            Err(ScenarioGone::Missing(id)) if installed.is_some() => Err(ScenarioGone::Changed(id)),
            found => found,
        }
    }

    /// Returns the built-in scenarios.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Returns the fingerprint of this machine for policies in the runtime `base`.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// Returns the fingerprint for policies in this version of a runtime; if it is not installed, that of `base`.
    #[must_use]
    pub fn fingerprint_in(&self, runtime: Option<&RuntimeVersion>) -> Fingerprint {
        self.in_runtime(&self.fingerprint, runtime)
    }

    fn in_runtime(&self, machine: &Fingerprint, runtime: Option<&RuntimeVersion>) -> Fingerprint {
        match runtime.map(|version| self.runtimes.version(version)) {
            Some(Ok(found)) => machine.in_runtime(found.manifest.version(), found.manifest.numpy()),
            Some(Err(_)) | None => machine.clone(),
        }
    }

    /// Returns the fingerprint of a job that ran on `machine`.
    #[must_use]
    pub fn fingerprint_of(&self, machine: &Fingerprint, job: &JobHeader) -> Fingerprint {
        match job.policy_identity {
            PolicyIdentity::Measured => self.in_runtime(machine, job.runtime.as_ref()),
            PolicyIdentity::Declared => Fingerprint { runtime: None, ..machine.clone() },
        }
    }

    /// Returns the installed runtimes.
    #[must_use]
    pub fn runtimes(&self) -> &RuntimeLibrary {
        &self.runtimes
    }

    /// Returns the runtimes in use now, whose files may be read at any time.
    pub(crate) fn open_runtimes(&self) -> Vec<Sha256Digest> {
        self.pools.as_ref().map(Pools::runtimes).unwrap_or_default()
    }

    /// Chooses the runtime for a policy.
    ///
    /// # Errors
    /// [`NoRuntime`], for the policy's author.
    pub fn runtime_for(&self, declaration: &PolicyDeclaration) -> Result<RuntimeVersion, NoRuntime> {
        self.runtimes.choose(declaration).map(|runtime| runtime.manifest.version())
    }

    /// Returns the number of lanes that may run at the same time.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    pub(crate) fn wall_budget(&self) -> WallBudget {
        self.wall_budget
    }

    /// Creates a folder for temporary files; it is removed when dropped, at the latest with the engine.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn scratch(&self, what: &str) -> io::Result<TempDir> {
        self.scratch.folder(what)
    }

    /// Returns the folder that contains all temporary files.
    pub(crate) fn scratch_folder(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn jail(&self) -> &Jail {
        &self.jail
    }

    /// Returns the isolation of policies and simulators from the machine.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.jail.isolation()
    }

    /// Checks that policies can run here; policy servers can be used in any case.
    ///
    /// # Errors
    /// [`NotIsolated`] names the reason and the operator's remedy.
    pub fn runs_policies(&self) -> Result<(), NotIsolated> {
        self.pools().map(|_| ())
    }

    /// Returns the notes on isolation for a report; empty with the strongest isolation.
    #[must_use]
    pub fn isolation_warning(&self) -> Option<String> {
        match self.isolation() {
            Isolation::Namespaces => None,
            Isolation::Landlock => {
                Some("the policy ran in weaker isolation (landlock): without namespaces of its own".to_owned())
            }
            Isolation::None => Some(
                "the policy ran without isolation (none): it could read what the service's user can read".to_owned(),
            ),
        }
    }

    pub(crate) fn pools(&self) -> Result<&Pools, NotIsolated> {
        self.pools.as_ref().map_err(Clone::clone)
    }

    /// Returns the client for policy servers.
    #[must_use]
    pub fn remote(&self) -> &ServerConnector {
        &self.remote
    }

    pub(crate) fn lane_program(&self) -> &Program {
        &self.lane
    }

    /// Copies the scenario's files to a place that jails can read, and returns that place.
    pub(crate) fn staged(&self, scenario: &Scenario) -> Result<Staged, assay_jail::StageError> {
        let staged = |folder: &Path| -> Result<JailPath, assay_jail::StageError> {
            let staged = stage_readable(folder, &self.cache_root)?;
            let mut recent = self.recently_staged.lock().unwrap_or_else(PoisonError::into_inner);
            recent.retain(|other| *other != staged);
            recent.push_back(staged.clone());
            let surplus = recent.len().saturating_sub(MAX_STAGED);
            // Removing files takes time: not under the lock.
            let old: Vec<JailPath> = recent.drain(..surplus).collect();
            drop(recent);
            drop(old);
            Ok(staged)
        };
        Ok(Staged { scenario: staged(&scenario.folder)?, robots: staged(&scenario.robots_folder)? })
    }
}

fn reasons(missing: &[(Isolation, String)]) -> String {
    missing.iter().map(|(tier, why)| format!("{tier}: {why}")).collect::<Vec<_>>().join("; ")
}

fn remote(guard: AddressGuard) -> io::Result<ServerConnector> {
    ServerConnector::new(guard, RemoteLimits::default())
}

/// Returns the processor to which lane number `lane` is pinned: one of those that this process may use. Programs that
/// run at the same time begin with different ones, so that each of them with a single lane has one of its own.
pub(crate) fn core_of(lane: usize) -> usize {
    static CORES: OnceLock<Vec<usize>> = OnceLock::new();
    let cores = CORES.get_or_init(|| {
        let set = rustix::thread::sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
    });
    let first = usize::try_from(std::process::id()).unwrap_or(0);
    if cores.is_empty() { 0 } else { cores[(lane + first) % cores.len()] }
}

#[cfg(test)]
mod tests;
