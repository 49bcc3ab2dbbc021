//! Starts and stops the worker's threads.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::options::ServiceOptions;
use super::shared::WorkerShared;
use crate::engine::core_of;
use crate::shards::{relief, server_jobs};

/// A running worker.
#[derive(Debug)]
pub struct WorkerService {
    shared: Arc<WorkerShared>,
    threads: Vec<JoinHandle<()>>,
}

impl WorkerService {
    /// Starts two threads per lane of the engine, some for jobs of policy servers, and two for maintenance. Without
    /// lanes, workers on other hosts run all shards, and two threads conclude and render.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub fn start(options: ServiceOptions) -> std::io::Result<Self> {
        let name = format!("worker-{}", std::process::id());
        let (lanes, host) = (options.engine.lanes(), Arc::clone(&options.engine));
        let shared = Arc::new(WorkerShared::new(options, host, name));
        let mut service = Self { shared, threads: Vec::new() };
        if lanes == 0 {
            service.spawn("conclusions".to_owned(), WorkerShared::run_without_lanes)?;
            service.spawn("draw-0".to_owned(), WorkerShared::run_renderer)?;
        }
        for lane in 0..lanes {
            service.spawn(format!("lane-{lane}"), move |shared| shared.run_lane(core_of(lane)))?;
            service.spawn(format!("draw-{lane}"), WorkerShared::run_renderer)?;
        }
        for number in 0..relief::MAX_RELIEFS_PER_LANE * lanes {
            service.spawn(format!("relief-{number}"), move |shared| {
                shared.runner.run_relief_lane(core_of(number), &|| shared.conclude_waiting());
            })?;
        }
        let server_jobs = if lanes == 0 { 0 } else { server_jobs::MAX_JOBS };
        for number in 0..server_jobs {
            service.spawn(format!("server-{number}"), |shared| {
                shared.runner.serve_servers(&|| shared.conclude_waiting());
            })?;
        }
        service.spawn("heartbeat".to_owned(), |shared| shared.run_heartbeat())?;
        service.spawn("reconcile".to_owned(), |shared| shared.run_reconciler())?;
        Ok(service)
    }

    /// Stops taking new work; running episodes may end within `limit`, then they are handed back. Returns when all
    /// threads are idle.
    pub fn drain(self, limit: Duration) {
        let runner = &self.shared.runner;
        runner.stopping.cancel();
        // Unfinished renderings are continued after the next start.
        runner.claims.cancel_renders();
        runner.drain(limit);
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("worker thread panicked");
            }
        }
    }

    fn spawn(&mut self, name: String, body: impl FnOnce(&WorkerShared) + Send + 'static) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        self.threads.push(thread::Builder::new().name(name).spawn(move || body(&shared))?);
        Ok(())
    }
}
