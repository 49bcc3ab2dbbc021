//! A service on a scripted machine, without its threads: tests call the functions that the threads would run.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use assay_model::{Clock, Entropy, EpisodeResult, JobId, Plan};
use assay_store::{
    ArchiveFiles, Blobs, Claim, JobRecords, JobState, LiveProgress, LocalQueue, ModelFiles, NewJob,
    PolicyServerCredentialsStore, Records, RecoveryRecords, ShardRecords, ShardRequest, Site, SqliteRecords,
    StorageHealth,
};
use assay_store_testing::{at, job};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::episode::tests::script::{ScriptedHost, scenario};
use crate::service::ServiceOptions;
use crate::service::shared::WorkerShared;
use crate::shards::quiet::Quiet;
use crate::shards::warm_lane::WarmLane;
use crate::{Engine, Keyring};

const EVIDENCE: &str = "evidence";
/// Duration of a lease without renewal.
const LEASE: SignedDuration = SignedDuration::from_secs(15);

/// A clock that a test sets.
#[derive(Debug)]
struct ManualClock(Mutex<Timestamp>);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// Entropy that is always the same.
#[derive(Debug)]
struct Sevens;

impl Entropy for Sevens {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

/// The world around a worker: what happens there in the middle of an episode.
#[derive(Clone)]
pub(super) struct Outside {
    pub(super) records: Arc<SqliteRecords>,
    clock: Arc<ManualClock>,
    runtime: Handle,
    worker: Arc<OnceLock<Weak<WorkerShared>>>,
}

impl Outside {
    /// Waits for the records.
    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Returns the time.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets time pass.
    pub(super) fn pass(&self, seconds: i64) {
        *self.clock.0.lock().unwrap() += SignedDuration::from_secs(seconds);
    }

    /// Returns the worker.
    pub(super) fn worker(&self) -> Arc<WorkerShared> {
        self.worker.get().unwrap().upgrade().unwrap()
    }

    /// Requeues the work of workers whose leases have expired. Returns the number of requeued items.
    pub(super) fn reconcile(&self) -> usize {
        self.wait(self.records.reconcile(self.now())).unwrap().requeued.len()
    }

    /// Claims a shard for another worker.
    pub(super) fn claim(&self) -> Option<Claim> {
        self.wait(self.records.claim_shard(&ShardRequest::new("other"), self.now(), LEASE)).unwrap()
    }

    /// Lets the worker's lease expire and another worker claim the shard.
    pub(super) fn take_over(&self) -> Claim {
        self.pass(LEASE.as_secs() + 1);
        assert_eq!(self.reconcile(), 1, "the lease has expired");
        self.claim().unwrap()
    }

    /// Returns the state of a job.
    pub(super) fn state(&self, id: JobId) -> JobState {
        self.wait(self.records.job(None, id)).unwrap().unwrap().state
    }

    /// Returns the results of a job.
    pub(super) fn episodes(&self, id: JobId) -> Vec<EpisodeResult> {
        self.wait(self.records.episodes(id, 0, 1000)).unwrap()
    }
}

/// A service whose lanes follow a script.
pub(super) struct ServiceRun {
    pub(super) outside: Outside,
    pub(super) host: ScriptedHost,
    pub(super) id: JobId,
    folder: TempDir,
    worker: Arc<WorkerShared>,
    _runtime: Runtime,
}

impl ServiceRun {
    /// Creates a service with one job of `episodes` in shards of `shard`.
    pub(super) fn new(episodes: u32, shard: u32, script: impl FnOnce(&Outside) -> ScriptedHost) -> Self {
        Self::with_plan((episodes, shard, None), script)
    }

    /// Creates a service with one certification of `episodes` in one shard.
    pub(super) fn certifying(episodes: u32, script: impl FnOnce(&Outside) -> ScriptedHost) -> Self {
        Self::with_plan((episodes, episodes, Some(0.1)), script)
    }

    fn with_plan(
        (episodes, shard, target): (u32, u32, Option<f64>),
        script: impl FnOnce(&Outside) -> ScriptedHost,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let records = Arc::new(SqliteRecords::open(folder.path(), "a test").unwrap());
        let clock = Arc::new(ManualClock(Mutex::new(at(0))));
        let outside = Outside { records, clock, runtime: runtime.handle().clone(), worker: Arc::new(OnceLock::new()) };
        let host = script(&outside);
        let options = options(folder.path(), &outside);
        let worker = Arc::new(WorkerShared::new(options, Arc::new(host.clone()), "worker-1".to_owned()));
        outside.worker.set(Arc::downgrade(&worker)).unwrap();
        let job = new_job(episodes, shard, target);
        let id = job.header.job_id;
        outside.wait(outside.records.create_job(job)).unwrap();
        Self { outside, host, id, folder, worker, _runtime: runtime }
    }

    /// Runs the next shard. Returns whether there was one.
    pub(super) fn work(&self) -> bool {
        self.work_on(&mut WarmLane::new(0))
    }

    /// Runs the next shard after those that ran on `lane`. Returns whether there was one.
    pub(super) fn work_on(&self, lane: &mut WarmLane) -> bool {
        self.worker.shard_next(lane, &mut Quiet::default())
    }

    /// Concludes the next job. Returns whether there was one.
    pub(super) fn conclude(&self) -> bool {
        self.worker.conclude_next()
    }

    /// Returns the number of files of evidence that are stored.
    pub(super) fn stored(&self) -> usize {
        let folder = self.folder.path().join(EVIDENCE).join("jobs").join(self.id.to_string());
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    /// Makes it impossible to store evidence, or possible again.
    pub(super) fn break_storage(&self, broken: bool) {
        let incoming = self.folder.path().join(EVIDENCE).join("incoming");
        if broken { fs::remove_dir(incoming).unwrap() } else { fs::create_dir(incoming).unwrap() }
    }
}

fn options(folder: &Path, outside: &Outside) -> ServiceOptions {
    fs::create_dir(folder.join("policies")).unwrap();
    fs::write(folder.join("policies/1.py"), "a policy").unwrap();
    ServiceOptions {
        lease: LEASE,
        engine: Arc::new(Engine::without_programs()),
        records: Arc::clone(&outside.records) as Arc<dyn Records>,
        queue: Arc::new(LocalQueue::new()),
        clock: Arc::clone(&outside.clock) as Arc<dyn Clock>,
        archives: ArchiveFiles::folder(folder),
        keyring: Keyring::open(&folder.join("signing"), &Sevens, at(0)).unwrap(),
        blobs: Blobs::folder(&folder.join(EVIDENCE)).unwrap(),
        judge: None,
        max_evidence_bytes: 1 << 30,
        live: LiveProgress::default(),
        site: Site::default(),
        servers: PolicyServerCredentialsStore::folder(&folder.join("servers")).unwrap(),
        models: ModelFiles::folder(&folder.join(ModelFiles::FOLDER)).unwrap(),
        health: StorageHealth::new(folder),
        runtime: outside.runtime.clone(),
    }
}

fn new_job(episodes: u32, shard: u32, target: Option<f64>) -> NewJob {
    let mut job = job(1, "lab", episodes, shard);
    job.header.scenario_digest = scenario().digest;
    job.header.plan = Plan { target, ..job.header.plan };
    job.policy_path = Some("policies/1.py".to_owned());
    job
}
