//! The state that the worker's threads share.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use assay_store::{ShardKind, ShardRequest, Work, WorkerCapabilities};

use super::claims::Claims;
use super::intervals::TICK;
use super::missing::Missing;
use super::options::ServiceOptions;
use super::renderers::Renderers;
use super::servers::Servers;
use super::sleepers::Sleepers;
use crate::Cancel;
use crate::episode::host::EpisodeHost;

/// State shared by the worker's threads.
#[derive(Debug)]
pub(crate) struct WorkerShared {
    pub(crate) options: ServiceOptions,
    /// Provides lanes and policies.
    pub(super) host: Arc<dyn EpisodeHost>,
    pub(crate) claims: Claims,
    pub(super) servers: Servers,
    /// Lanes whose policies sleep.
    pub(super) sleepers: Sleepers,
    pub(super) renderers: Renderers,
    /// Scenario versions whose files are missing.
    pub(super) missing: Missing,
    /// Set when no new work is accepted.
    pub(crate) stopping: Cancel,
    /// The worker's name in the records.
    pub(crate) name: String,
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

    /// Returns a request for shards that this machine can run.
    pub(super) fn request(&self, kind: ShardKind) -> ShardRequest {
        let machine = Some(self.options.engine.fingerprint().clone());
        let capabilities = WorkerCapabilities { machine, ..WorkerCapabilities::everything() };
        ShardRequest { capabilities, ..ShardRequest::new(&self.name).of_kind(kind) }
    }

    pub(crate) fn publish(&self, work: Vec<Work>) {
        for work in work {
            self.wait(self.options.queue.publish(work));
        }
    }

    /// Sleeps for `time`, or until shortly after the service stops.
    pub(super) fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !(self.stopping.is_cancelled() && self.claims.is_empty()) {
            thread::sleep(TICK);
        }
    }
}
