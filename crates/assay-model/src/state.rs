//! Life cycle of a job: `QUEUED -> RUNNING -> JUDGING -> COMPLETED`, and from any of the first three `FAILED` or
//! `CANCELLED`.

use serde::{Deserialize, Serialize};

/// Status of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum JobStatus {
    /// Accepted and stored durably; no worker has taken an episode yet.
    Queued,
    /// A worker has taken at least one episode.
    Running,
    /// All episodes are recorded; the conclusion is being drawn.
    Judging,
    /// Completed with a verdict.
    Completed,
    /// Failed because of an internal error; the policy is not to blame.
    Failed,
    /// Cancelled by the job's owner.
    Cancelled,
}

/// Event in the life cycle of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEvent {
    /// A worker took a shard.
    Started,
    /// The last episode was recorded.
    EpisodesDone,
    /// The conclusion was written.
    Concluded,
    /// The retries are used up, because of an internal error.
    GaveUp,
    /// The owner cancelled the job.
    Cancelled,
}

/// Error for an event that the status does not permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("event {event:?} is not permitted for a {from:?} job")]
pub struct InvalidTransition {
    /// Status of the job.
    pub from: JobStatus,
    /// Event that was refused.
    pub event: JobEvent,
}

impl JobStatus {
    /// Returns the name used in messages and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "QUEUED",
            Self::Running => "RUNNING",
            Self::Judging => "JUDGING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Parses the output of [`Self::as_str`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Queued, Self::Running, Self::Judging, Self::Completed, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|status| status.as_str() == text)
    }

    /// Returns whether the status is final.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns the status after `event`.
    ///
    /// # Errors
    /// [`InvalidTransition`] when this status does not permit the event.
    pub fn after(self, event: JobEvent) -> Result<Self, InvalidTransition> {
        match (self, event) {
            (Self::Queued | Self::Running, JobEvent::Started) => Ok(Self::Running),
            (Self::Running, JobEvent::EpisodesDone) => Ok(Self::Judging),
            (Self::Judging, JobEvent::Concluded) => Ok(Self::Completed),
            (Self::Queued | Self::Running | Self::Judging, JobEvent::GaveUp) => Ok(Self::Failed),
            (Self::Queued | Self::Running | Self::Judging, JobEvent::Cancelled) => Ok(Self::Cancelled),
            (from, event) => Err(InvalidTransition { from, event }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_states_do_not_change() {
        let events =
            [JobEvent::Started, JobEvent::EpisodesDone, JobEvent::Concluded, JobEvent::GaveUp, JobEvent::Cancelled];
        for status in [JobStatus::Completed, JobStatus::Failed, JobStatus::Cancelled] {
            assert!(status.is_final());
            for event in events {
                assert_eq!(status.after(event), Err(InvalidTransition { from: status, event }));
            }
        }
    }

    #[test]
    fn transitions_to_a_verdict() {
        let judged = JobStatus::Queued.after(JobEvent::Started).and_then(|s| s.after(JobEvent::EpisodesDone));
        assert_eq!(judged.and_then(|s| s.after(JobEvent::Concluded)), Ok(JobStatus::Completed));
        assert!(JobStatus::Queued.after(JobEvent::Concluded).is_err());
        assert_eq!(JobStatus::parse("JUDGING"), Some(JobStatus::Judging));
        assert_eq!(JobStatus::parse("judging"), None);
    }
}
