//! A lane that is started before there is work for it, so that a shard need not wait for a jail and a compiler.
//!
//! Every lane still serves one shard and ends; only its start is earlier. An idle worker thread keeps one lane ready
//! for the scenario it ran last; under load there is no idle time, and nothing is started in advance.

use std::sync::Arc;

use assay_model::ErrorChain;
use assay_scenario::Scenario;

use crate::SessionError;
use crate::episode::host::EpisodeHost;
use crate::episode::lane::Lane;

/// The lane that a worker thread keeps ready. It dies with the thread.
#[derive(Debug)]
pub(crate) struct WarmLane {
    core: usize,
    /// The scenario that is expected next: the last one that ran without errors.
    expected: Option<Arc<Scenario>>,
    lane: Option<Box<dyn Lane>>,
    /// The lane that ran last and has yet to be ended.
    retired: Option<Box<dyn Lane>>,
}

impl WarmLane {
    /// Creates an empty slot for lanes on processor `core`.
    pub(crate) fn new(core: usize) -> Self {
        Self { core, expected: None, lane: None, retired: None }
    }

    pub(crate) fn core(&self) -> usize {
        self.core
    }

    /// Returns the lane if it has compiled exactly this scenario; otherwise ends it, to free its processor and memory.
    pub(crate) fn take(&mut self, scenario: &Scenario) -> Option<Box<dyn Lane>> {
        self.retired = None;
        let expected = self.expected.take();
        self.lane.take().filter(|_| expected.is_some_and(|expected| expected.digest == scenario.digest))
    }

    /// Takes a finished shard's lane. Ending the process takes some milliseconds of CPU time, so it is delayed until
    /// the next lane is taken or started and does not delay the verdict.
    pub(crate) fn retire(&mut self, lane: Option<Box<dyn Lane>>) {
        self.retired = lane;
    }

    /// Records that a shard of `scenario` ran without errors; another may follow.
    pub(crate) fn expect(&mut self, scenario: Arc<Scenario>) {
        self.expected = Some(scenario);
    }

    /// Starts the lane, unless one is running or no scenario is expected.
    pub(crate) fn start(&mut self, host: &dyn EpisodeHost) {
        self.retired = None;
        let Some(expected) = self.expected.as_ref().filter(|_| self.lane.is_none()) else { return };
        let staged = host.staged(expected).map_err(SessionError::of);
        match staged.and_then(|staged| host.lane(expected, &staged, self.core).map_err(SessionError::of)) {
            Ok(lane) => self.lane = Some(lane),
            Err(error) => {
                // The next shard starts its own lane and reports the error.
                tracing::debug!(error = %ErrorChain(&error), "could not start spare lane");
                self.expected = None;
            }
        }
    }
}
