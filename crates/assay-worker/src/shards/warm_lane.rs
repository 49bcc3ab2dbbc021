//! A lane that is started before there is work for it, so that a shard need not wait for a jail and a compiler.
//!
//! Every lane still serves one job and ends; only its start is earlier. An idle worker thread keeps one lane ready
//! for the scenario it ran last; under load there is no idle time, and nothing is started in advance. What serves a
//! shard also serves the next shard of the same job, if that follows at once.

use std::sync::Arc;

use assay_model::{ErrorChain, JobId};
use assay_policy::PolicyHome;
use assay_scenario::Scenario;

use crate::episode::host::EpisodeHost;
use crate::episode::lane::Lane;
use crate::{PolicySource, SessionError};

/// The lane that a worker thread keeps ready. It dies with the thread.
#[derive(Debug)]
pub(crate) struct WarmLane {
    core: usize,
    /// The scenario that is expected next: the last one that ran without errors.
    expected: Option<Arc<Scenario>>,
    lane: Option<Box<dyn Lane>>,
    /// The lane that ran last, and its job: another shard of it may follow, or else it has yet to be ended.
    retired: Option<(JobId, Box<dyn Lane>)>,
    /// The home of the last policy, and its job, of which another shard may follow. Starting a fork server takes some
    /// 80 ms of CPU time.
    home: Option<(JobId, PolicyHome)>,
}

impl WarmLane {
    /// Creates an empty slot for lanes on processor `core`.
    pub(crate) fn new(core: usize) -> Self {
        Self { core, expected: None, lane: None, retired: None, home: None }
    }

    pub(crate) fn core(&self) -> usize {
        self.core
    }

    /// Returns a lane for a shard of a job with this scenario: the one that served the same job last, or else one that
    /// was started for exactly this scenario. Ends any other, to free its processor and memory.
    pub(crate) fn take(&mut self, job: JobId, scenario: &Scenario) -> Option<Box<dyn Lane>> {
        let expected = self.expected.take();
        if let Some((_, lane)) = self.retired.take().filter(|(of, _)| *of == job) {
            return Some(lane);
        }
        self.lane.take().filter(|_| expected.is_some_and(|expected| expected.digest == scenario.digest))
    }

    /// Takes the lane of a finished shard of a job. Ending the process takes some milliseconds of CPU time, so it is
    /// delayed until the next lane is taken or started and does not delay the verdict.
    pub(crate) fn retire(&mut self, job: JobId, lane: Option<Box<dyn Lane>>) {
        self.retired = lane.map(|lane| (job, lane));
    }

    /// Records that a shard of `scenario` ran without errors; another may follow.
    pub(crate) fn expect(&mut self, scenario: Arc<Scenario>) {
        self.expected = Some(scenario);
    }

    /// Gives the policy of a shard the home that another shard of the same job left here, and keeps its home for the
    /// next one. No other job gets it.
    pub(crate) fn share_home(&mut self, job: JobId, policy: &mut PolicySource) {
        let kept = self.home.take().filter(|(of, _)| *of == job);
        if let PolicySource::Folder(folder) = policy {
            if let Some((_, home)) = kept.filter(|(_, home)| home.has_models_of(&folder.home)) {
                folder.home = home;
            }
            self.home = Some((job, folder.home.clone()));
        }
    }

    /// Ends what the last shard left. Starts the lane, unless one is running or no scenario is expected.
    pub(crate) fn start(&mut self, host: &dyn EpisodeHost) {
        (self.retired, self.home) = (None, None);
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
