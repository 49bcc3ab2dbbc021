//! The state that the worker's threads share.

use std::sync::Arc;
use std::time::Duration;

use assay_model::JobHeader;
use assay_model::SeedSource;
use assay_store::Work;

use super::local_dispatch::LocalDispatch;
use super::options::ServiceOptions;
use super::render_choice::RenderersElsewhere;
use crate::SessionError;
use crate::episode::host::EpisodeHost;
use crate::shards::renderers::Renderers;
use crate::shards::runner::ShardRunner;

/// State shared by the worker's threads.
#[derive(Debug)]
pub(crate) struct WorkerShared {
    pub(crate) options: ServiceOptions,
    /// Runs the shards of the records.
    pub(crate) runner: ShardRunner,
    dispatch: Arc<LocalDispatch>,
    pub(super) renderers: Renderers,
    pub(super) renderers_elsewhere: RenderersElsewhere,
    /// The worker's name in the records.
    pub(crate) name: String,
}

impl WorkerShared {
    /// Creates the state of the worker `name`, whose lanes and policies `host` provides.
    pub(crate) fn new(options: ServiceOptions, host: Arc<dyn EpisodeHost>, name: String) -> Self {
        let dispatch = Arc::new(LocalDispatch::new(options.clone(), name.clone()));
        let (engine, clock) = (Arc::clone(&options.engine), Arc::clone(&options.clock));
        let runner = ShardRunner::new(engine, host, Arc::clone(&dispatch) as _, clock);
        let (renderers, renderers_elsewhere) = (Renderers::default(), RenderersElsewhere::default());
        Self { options, runner, dispatch, renderers, renderers_elsewhere, name }
    }

    /// Blocks until the records answer.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.options.runtime.block_on(future)
    }

    pub(crate) fn publish(&self, work: Vec<Work>) {
        for work in work {
            self.wait(self.options.queue.publish(work));
        }
    }

    /// Returns the source of a job's seeds.
    pub(super) fn seeds(&self, header: &JobHeader) -> Result<SeedSource, SessionError> {
        self.dispatch.seeds(header)
    }

    /// Sleeps for `time`, or until shortly after the service stops.
    pub(super) fn sleep(&self, time: Duration) {
        self.runner.sleep(time);
    }

    /// Returns true if no new work is accepted.
    pub(super) fn is_stopping(&self) -> bool {
        self.runner.stopping.is_cancelled()
    }
}
