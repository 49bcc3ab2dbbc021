//! The server's worker: leases shards from the records, runs them on its lanes, concludes jobs.
//!
//! One long-lived thread per lane (children die with the thread that spawned them), one per lane for what is drawn
//! after the verdict, some more for jobs whose policy is a server, one that prolongs leases, one that puts right what
//! dead workers left. The records are the truth: whatever this process forgets when it is killed is found again when a
//! lease runs out.

mod busy;
mod claims;
mod conclude;
mod dropped;
mod judge;
mod missing;
mod packing;
mod quiet;
mod renderers;
mod seasons;
mod servers;
mod shard;
mod sleepers;
mod warm_lane;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use assay_judge::Judge;
use assay_model::Clock;
use assay_store::{Blobs, LiveProgress, PolicyServerCredentialsStore, Queue, Records, StorageHealth, Work};
use jiff::SignedDuration;
use tokio::runtime::Handle;

use crate::engine::core_of;
use crate::{Cancel, Engine, Keyring};
use claims::{Claims, Held};
use missing::Missing;
use quiet::Quiet;
use renderers::Renderers;
use servers::Servers;
use sleepers::Sleepers;
use warm_lane::WarmLane;

/// A lease that is not prolonged runs out after this long.
const LEASE: SignedDuration = SignedDuration::from_secs(15);
/// Interval of lease renewals. A renewal also reveals that a job was cancelled, and its owner should not have to wait.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Interval of the reconciler.
const RECONCILE: Duration = Duration::from_secs(3);
/// An idle lane looks into the records at least this often.
const POLL: Duration = Duration::from_secs(1);
/// Interval at which waiting threads check the stop flag.
const TICK: Duration = Duration::from_millis(50);
/// Hints published at the start for what is left from before.
const MAX_PRIMED: u32 = 4096;

/// Dependencies and options of the service.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// Runs episodes.
    pub engine: Arc<Engine>,
    /// The truth.
    pub records: Arc<dyn Records>,
    /// Wakes lanes.
    pub queue: Arc<dyn Queue>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The data folder: `policies/` is read.
    pub data: PathBuf,
    /// Signs what was found.
    pub keyring: Keyring,
    /// Where evidence goes.
    pub blobs: Blobs,
    /// Looks at episodes before a job is concluded, if there is one.
    pub judge: Option<Judge>,
    /// Most evidence of a job, in bytes; over it images are left out.
    pub max_job_bytes: u64,
    /// Where it says how far episodes are.
    pub live: Arc<dyn LiveProgress>,
    /// Credentials of the jobs' policy servers.
    pub servers: PolicyServerCredentialsStore,
    /// Health of storage, told when files cannot be stored.
    pub health: StorageHealth,
    /// The records' runtime.
    pub runtime: Handle,
}

/// A running worker.
#[derive(Debug)]
pub struct WorkerService {
    shared: Arc<WorkerShared>,
    threads: Vec<JoinHandle<()>>,
}

/// State shared by the worker's threads.
#[derive(Debug)]
pub(crate) struct WorkerShared {
    pub(crate) options: ServiceOptions,
    pub(crate) claims: Claims,
    servers: Servers,
    /// Lanes whose policies sleep.
    sleepers: Sleepers,
    renderers: Renderers,
    /// Scenario versions whose files are missing.
    missing: Missing,
    /// No new work is taken.
    pub(crate) stopping: Cancel,
    /// The worker's name in the records.
    pub(crate) name: String,
}

impl WorkerService {
    /// Starts two threads per lane of the engine, some for jobs of policy servers, and two for upkeep.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(options: ServiceOptions) -> std::io::Result<Self> {
        let name = format!("worker-{}", std::process::id());
        let lanes = options.engine.lanes();
        let shared = WorkerShared {
            options,
            claims: Claims::default(),
            servers: Servers::default(),
            sleepers: Sleepers::default(),
            renderers: Renderers::default(),
            missing: Missing::default(),
            stopping: Cancel::new(),
            name,
        };
        let shared = Arc::new(shared);
        let mut service = Self { shared, threads: Vec::new() };
        for lane in 0..lanes {
            service.spawn(format!("lane-{lane}"), move |shared| shared.lane(core_of(lane)))?;
            service.spawn(format!("draw-{lane}"), WorkerShared::draw)?;
        }
        for number in 0..sleepers::MAX_RELIEFS_PER_LANE * lanes {
            service.spawn(format!("relief-{number}"), move |shared| shared.relieve(core_of(number)))?;
        }
        for number in 0..servers::MAX_JOBS {
            service.spawn(format!("server-{number}"), WorkerShared::serve_servers)?;
        }
        service.spawn("heartbeat".to_owned(), |shared| shared.beat())?;
        service.spawn("reconcile".to_owned(), |shared| shared.upkeep())?;
        Ok(service)
    }

    /// Takes no new work; episodes that run may end within `limit`, then they are handed back. Returns when all is
    /// quiet.
    pub fn drain(self, limit: Duration) {
        self.shared.stopping.cancel();
        // What is drawn goes on after the next start.
        self.shared.claims.cancel_renders();
        let until = Instant::now() + limit;
        while !self.shared.claims.is_empty() && Instant::now() < until {
            thread::sleep(TICK);
        }
        self.shared.claims.cancel_all();
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a worker thread panicked");
            }
        }
    }

    fn spawn(&mut self, name: String, body: impl FnOnce(&WorkerShared) + Send + 'static) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        self.threads.push(thread::Builder::new().name(name).spawn(move || body(&shared))?);
        Ok(())
    }
}

impl WorkerShared {
    /// Waits for an answer of the records.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.options.runtime.block_on(future)
    }

    fn lane(&self, core: usize) {
        let (mut spare, mut quiet) = (WarmLane::new(core), Quiet::default());
        while !self.stopping.is_cancelled() {
            let worked = self.conclude_next() || self.shard_next(&mut spare, &mut quiet);
            if !worked && !self.stopping.is_cancelled() {
                spare.start(&self.options.engine);
                if !quiet.is_over(self.options.clock.now()) {
                    // A hint is for a lane that may run whatever it is about.
                    self.sleep(POLL);
                    continue;
                }
                let _idle = self.renderers.idle();
                // The hint's content does not matter: the records say what there is to do.
                if self.wait(self.options.queue.next(POLL)).is_some() {
                    self.servers.wake();
                }
            }
        }
    }

    fn beat(&self) {
        // Leases are prolonged until the last claim is gone, also while the service drains.
        while !(self.stopping.is_cancelled() && self.claims.is_empty()) {
            self.sleep(HEARTBEAT);
            for (held, cancel) in self.claims.all() {
                let (records, now) = (&self.options.records, self.options.clock.now());
                let lease = match held {
                    Held::Shard(fence) => self.wait(records.heartbeat(fence, now, LEASE)),
                    Held::Conclusion(fence) => self.wait(records.heartbeat_conclusion(fence, now, LEASE)),
                    Held::Render(fence) => self.wait(records.heartbeat_render(fence, now, LEASE)),
                };
                match lease {
                    Ok(assay_store::Lease::Held) => {}
                    Ok(assay_store::Lease::Lost) => cancel.cancel(),
                    Err(error) => error.log("a lease could not be prolonged"),
                }
            }
        }
    }

    fn upkeep(&self) {
        let start = SystemTime::from(self.options.clock.now());
        match self.wait(self.options.records.claimable(MAX_PRIMED)) {
            Ok(work) => self.publish(work),
            Err(error) => error.log("the records could not be read"),
        }
        while !self.stopping.is_cancelled() {
            match self.wait(self.options.records.reconcile(self.options.clock.now())) {
                Ok(done) => {
                    for job in &done.failed {
                        tracing::error!(job.id = %job, "given up: its leases ran out too often");
                    }
                    self.publish(done.requeued);
                }
                Err(error) => error.log("the records could not be put right"),
            }
            // The log is to tell of a disk that is full, or has room again, also when nothing is asked for.
            if let Err(error) = self.options.health.free_bytes() {
                tracing::debug!(%error, "the free space of the disk is not known");
            }
            self.forget_servers(start);
            self.close_seasons();
            self.sleep(RECONCILE);
        }
    }

    pub(crate) fn publish(&self, work: Vec<Work>) {
        for work in work {
            self.wait(self.options.queue.publish(work));
        }
    }

    /// Sleeps, but not much longer than the service lives.
    fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !(self.stopping.is_cancelled() && self.claims.is_empty()) {
            thread::sleep(TICK);
        }
    }
}
