//! The interface of a lane: a simulator that runs one episode at a time. [`LaneProcess`] is one in a jail; tests use
//! lanes that follow a script.
//!
//! [`LaneProcess`]: crate::episode::lane_process::LaneProcess

use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use assay_jail::{Activity, WorkEnd};
use assay_model::Violation;
use assay_model::lane::{Done, RunEpisode};
use tempfile::TempDir;

use crate::Cancel;
use crate::episode::rejection::Rejection;

/// Interval at which a waiting worker checks its cancel flag.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// A simulator that runs the episodes of one scenario, one after the other.
pub(crate) trait Lane: Debug {
    /// Runs an episode with the policy behind `policy` (the stream written to it, the stream read from it).
    fn run(
        &mut self,
        run: RunEpisode,
        policy: [BorrowedFd<'_>; 2],
        cancel: &Cancel,
        events: &mut dyn LaneEvents,
    ) -> Result<Done, LaneError>;

    /// Returns the folder that the lane writes to; it exists as long as a reference is held. Its contents are
    /// untrusted: see [`crate::episode::evidence`].
    fn scratch(&self) -> Arc<TempDir>;
}

/// The further course of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// It goes on.
    Continue,
    /// A trial run ends after its current step.
    Conclude,
    /// The work is given up.
    Abort(WorkEnd),
}

/// Receives a lane's events during an episode.
pub(crate) trait LaneEvents {
    /// `step` of `of` control steps are done.
    fn progress(&mut self, step: u32, of: u32);
    /// The lane is waiting for the policy.
    fn waiting(&mut self);
    /// The policy has answered.
    fn answered(&mut self);
    /// Called while no message arrives; returns the maximum time until the next call. `lane` returns the activity of
    /// the lane's threads.
    fn tick(&mut self, lane: &dyn Fn() -> Option<Activity>) -> Duration;
    /// Called after [`Self::tick`] with the lane's CPU time since its start; returns how the episode goes on.
    fn course(&mut self, _lane_cpu: Duration) -> Course {
        Course::Continue
    }
    /// A critical clause was violated; returns once the violation is recorded. An error ends the attempt.
    fn violated(&mut self, violation: Violation) -> Result<(), Rejection>;
}

/// Ignores all events, for episodes of which only the end matters.
pub(crate) struct IgnoredEvents;

impl LaneEvents for IgnoredEvents {
    fn progress(&mut self, _step: u32, _of: u32) {}

    fn waiting(&mut self) {}

    fn answered(&mut self) {}

    fn tick(&mut self, _lane: &dyn Fn() -> Option<Activity>) -> Duration {
        TICK
    }

    fn violated(&mut self, _violation: Violation) -> Result<(), Rejection> {
        Ok(())
    }
}

/// An error of a lane.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaneError {
    /// The lane cannot be started.
    #[error("could not start a lane")]
    Spawn(#[from] assay_jail::SpawnError),
    /// The scenario cannot be run.
    #[error("the scenario can't be run: {0}")]
    Refused(String),
    /// The lane exited or had to be killed.
    #[error("the lane died ({exit}) after control step {step}: {log}")]
    Died {
        /// Exit status of the process.
        exit: String,
        /// It was killed or stopped by another process, such as an operator's command, or by the kernel when memory ran
        /// out. This is not evidence against the scenario.
        by_others: bool,
        /// Last known control step.
        step: u32,
        /// The end of its log.
        log: String,
    },
    /// The work was given up at a limit of the caller.
    #[error("the work was given up: {0}")]
    OverLimit(WorkEnd),
    /// The lane failed.
    #[error("the lane failed: {0}")]
    Failed(String),
    /// The lane read another scenario than this process, or judged by other clauses. Its files changed meanwhile, or
    /// the lane cannot be trusted.
    #[error("the lane has another scenario: {0}")]
    OtherScenario(String),
    /// The lane's answer is not a valid message.
    #[error("the lane's answer is not valid JSON")]
    Answer(#[source] serde_json::Error),
    /// A violation could not be recorded.
    #[error(transparent)]
    Unrecorded(#[from] Rejection),
    /// The disk was full. This is temporary, and not evidence against scenario or policy.
    #[error("the disk is full: {0}")]
    DiskFull(String),
    /// The job was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A socket or folder of the worker failed.
    #[error("the lane's socket or folder failed")]
    Io(#[from] io::Error),
}
