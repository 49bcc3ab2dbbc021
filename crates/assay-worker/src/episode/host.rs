//! The interface between a session and its machine. [`Engine`] provides jailed processes; tests provide scripts.

use std::fmt::Debug;
use std::thread;
use std::time::{Duration, Instant};

use assay_jail::StageError;
use assay_model::lane::RenderPart;
use assay_scenario::Scenario;

use crate::engine::Staged;
use crate::episode::lane::{Lane, LaneError};
use crate::episode::lane_process::LaneProcess;
use crate::episode::policy::{PendingPolicy, PolicyStart};
use crate::rendering::video::{self, Recording, RenderOutput, RendererError, Urgency};
use crate::{Cancel, Engine, Job, SessionError};

/// Interval for polling a running import, and thus the maximum delay of an episode's start.
const IMPORT_TICK: Duration = Duration::from_micros(100);
/// Time after which the interval is [`LONG_TICK`].
const LONG_WAIT: Duration = Duration::from_secs(1);
/// Interval for polling something that takes long.
const LONG_TICK: Duration = Duration::from_millis(10);

/// Provides everything that a session needs from its machine.
pub(crate) trait EpisodeHost: Debug + Send + Sync {
    /// Copies the scenario's files to a place that lanes can read, and returns that place.
    fn staged(&self, scenario: &Scenario) -> Result<Staged, StageError>;

    /// Starts a lane on processor `core`. The calling thread must outlive the lane.
    fn lane(&self, scenario: &Scenario, staged: &Staged, core: usize) -> Result<Box<dyn Lane>, LaneError>;

    /// Starts to prepare the job's policy for `episode`, on processor `core`.
    fn policy(&self, job: &Job, episode: u32, core: usize) -> Result<Box<dyn PreparedPolicy + '_>, SessionError>;

    /// Renders a part of an episode that is published with the verdict.
    fn showcase(
        &self,
        recording: &Recording<'_>,
        part: RenderPart,
        cancel: &Cancel,
    ) -> Result<RenderOutput, RendererError>;

    /// Returns the maximum time for which a policy may sleep in an episode of `scenario`.
    fn wall_budget(&self, scenario: &Scenario) -> Duration;

    /// Returns the current time, for measuring durations.
    fn now(&self) -> Instant;
}

/// A policy that is being prepared for its episode.
pub(crate) trait PreparedPolicy {
    /// Waits until the policy is imported or connected; cancellation interrupts the wait.
    fn start(self: Box<Self>, cancel: &Cancel) -> Result<PolicyStart, SessionError>;
}

impl EpisodeHost for Engine {
    fn staged(&self, scenario: &Scenario) -> Result<Staged, StageError> {
        Self::staged(self, scenario)
    }

    fn lane(&self, scenario: &Scenario, staged: &Staged, core: usize) -> Result<Box<dyn Lane>, LaneError> {
        Ok(Box::new(LaneProcess::start(self, scenario, staged, core)?))
    }

    fn policy(&self, job: &Job, episode: u32, core: usize) -> Result<Box<dyn PreparedPolicy + '_>, SessionError> {
        let is_secret = job.seeds.is_arena();
        let seed = job.seeds.episode(episode).policy;
        let pending = job.policy.prepare(self, &job.scenario, (seed, core, is_secret), None)?;
        Ok(Box::new(EnginePolicy { engine: self, pending }))
    }

    fn showcase(
        &self,
        recording: &Recording<'_>,
        part: RenderPart,
        cancel: &Cancel,
    ) -> Result<RenderOutput, RendererError> {
        video::render(self, recording, part, (Urgency::Awaited, cancel, &|_| ()))
    }

    fn wall_budget(&self, scenario: &Scenario) -> Duration {
        Self::wall_budget(self).of(scenario)
    }

    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// A policy that is being prepared by an engine.
struct EnginePolicy<'a> {
    engine: &'a Engine,
    pending: PendingPolicy,
}

impl PreparedPolicy for EnginePolicy<'_> {
    fn start(self: Box<Self>, cancel: &Cancel) -> Result<PolicyStart, SessionError> {
        let mut pending = self.pending.begin(self.engine)?;
        let began = Instant::now();
        while !pending.is_done() {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            // A policy server may take minutes to connect.
            thread::sleep(if began.elapsed() < LONG_WAIT { IMPORT_TICK } else { LONG_TICK });
        }
        pending.wait()
    }
}
