//! The server's worker: leases shards from the records, runs them on its lanes, concludes jobs.
//!
//! One long-lived thread per lane (children die with the thread that spawned them), one per lane for rendering after
//! the verdict, some more for jobs whose policy is a server, one that renews leases, and one that reconciles the work
//! of dead workers. The records are authoritative: work that a killed process forgets is found again when its lease
//! expires.

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
#[cfg(test)]
mod tests;
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
use crate::episode::host::EpisodeHost;
use crate::{Cancel, Engine, Keyring};
use claims::{Claims, Held};
use missing::Missing;
use quiet::Quiet;
use renderers::Renderers;
use servers::Servers;
use sleepers::Sleepers;
use warm_lane::WarmLane;

/// Duration of a lease without renewal.
const LEASE: SignedDuration = SignedDuration::from_secs(15);
/// Interval for renewing leases. A heartbeat also reports cancelled jobs, so it determines how long their owners wait.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Interval of the reconciler.
const RECONCILE: Duration = Duration::from_secs(3);
/// Maximum interval at which an idle lane checks the records.
const POLL: Duration = Duration::from_secs(1);
/// Interval at which waiting threads check the stop flag.
const TICK: Duration = Duration::from_millis(50);
/// Maximum number of hints published at the start for work left from before.
const MAX_PRIMED: u32 = 4096;

/// The dependencies and settings of a service.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// Runs episodes.
    pub engine: Arc<Engine>,
    /// The durable source of truth.
    pub records: Arc<dyn Records>,
    /// Wakes lanes.
    pub queue: Arc<dyn Queue>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The data folder: `policies/` is read.
    pub data: PathBuf,
    /// Signs the results.
    pub keyring: Keyring,
    /// Storage for evidence.
    pub blobs: Blobs,
    /// Reviews episodes before a job is concluded, if configured.
    pub judge: Option<Judge>,
    /// Maximum size of a job's evidence in bytes; beyond it images are left out.
    pub max_job_bytes: u64,
    /// Receives the progress of episodes.
    pub live: Arc<dyn LiveProgress>,
    /// Credentials for the policy servers of jobs.
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
    /// Provides lanes and policies.
    host: Arc<dyn EpisodeHost>,
    pub(crate) claims: Claims,
    servers: Servers,
    /// Lanes whose policies sleep.
    sleepers: Sleepers,
    renderers: Renderers,
    /// Scenario versions whose files are missing.
    missing: Missing,
    /// Set when no new work is accepted.
    pub(crate) stopping: Cancel,
    /// The worker's name in the records.
    pub(crate) name: String,
}

impl WorkerService {
    /// Starts two threads per lane of the engine, some for jobs of policy servers, and two for maintenance.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub fn start(options: ServiceOptions) -> std::io::Result<Self> {
        let name = format!("worker-{}", std::process::id());
        let (lanes, host) = (options.engine.lanes(), Arc::clone(&options.engine));
        let shared = Arc::new(WorkerShared::new(options, host, name));
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

    /// Stops taking new work; running episodes may end within `limit`, then they are handed back. Returns when all
    /// threads are idle.
    pub fn drain(self, limit: Duration) {
        self.shared.stopping.cancel();
        // Rendering continues after the next start.
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
    /// Creates the state of the worker `name`, whose lanes and policies `host` provides.
    pub(crate) fn new(options: ServiceOptions, host: Arc<dyn EpisodeHost>, name: String) -> Self {
        Self {
            options,
            host,
            claims: Claims::default(),
            servers: Servers::default(),
            sleepers: Sleepers::default(),
            renderers: Renderers::default(),
            missing: Missing::default(),
            stopping: Cancel::new(),
            name,
        }
    }

    /// Blocks until the records answer.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.options.runtime.block_on(future)
    }

    fn lane(&self, core: usize) {
        let (mut spare, mut quiet) = (WarmLane::new(core), Quiet::default());
        while !self.stopping.is_cancelled() {
            let worked = self.conclude_next() || self.shard_next(&mut spare, &mut quiet);
            if !worked && !self.stopping.is_cancelled() {
                spare.start(&*self.host);
                if !quiet.is_over(self.options.clock.now()) {
                    // A hint is meant for a lane that may run any work.
                    self.sleep(POLL);
                    continue;
                }
                let _idle = self.renderers.idle();
                // The hint's content does not matter: the records contain the work.
                if self.wait(self.options.queue.next(POLL)).is_some() {
                    self.servers.wake();
                }
            }
        }
    }

    fn beat(&self) {
        // Leases are renewed until the last claim is released, also while the service drains.
        while !(self.stopping.is_cancelled() && self.claims.is_empty()) {
            self.sleep(HEARTBEAT);
            self.renew_leases();
        }
    }

    /// Renews the leases of all claims, and stops work on those whose lease is lost.
    fn renew_leases(&self) {
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
            // A full disk, and its recovery, must appear in the log even if no request uses the disk.
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

    /// Sleeps for that time, or until shortly after the service stops.
    fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !(self.stopping.is_cancelled() && self.claims.is_empty()) {
            thread::sleep(TICK);
        }
    }
}
