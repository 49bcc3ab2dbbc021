//! The life of a job: `QUEUED -> RUNNING -> JUDGING -> COMPLETED`, and from any of the first three `FAILED` or
//! `CANCELLED`.

use serde::{Deserialize, Serialize};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum JobStatus {
    /// Accepted and durable; no worker has taken any of it.
    Queued,
    /// At least one episode was taken.
    Running,
    /// All episodes are recorded; the conclusion is being drawn.
    Judging,
    /// There is a verdict.
    Completed,
    /// We could not do the work.
    Failed,
    /// The owner asked us to stop.
    Cancelled,
}

/// An event in the life of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEvent {
    /// A worker took a shard.
    Started,
    /// The last episode was recorded.
    EpisodesDone,
    /// The conclusion was written.
    Concluded,
    /// Retries are used up and the fault is ours.
    GaveUp,
    /// The owner cancelled.
    Cancelled,
}

/// An event that the state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a {from:?} job cannot take {event:?}")]
pub struct InvalidTransition {
    /// The state it was in.
    pub from: JobStatus,
    /// The event that was refused.
    pub event: JobEvent,
}

impl JobStatus {
    /// The name on the wire and in the database.
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

    /// Reads [`Self::as_str`] back.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Queued, Self::Running, Self::Judging, Self::Completed, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|status| status.as_str() == text)
    }

    /// Nothing will change any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The state after `event`.
    ///
    /// # Errors
    /// [`InvalidTransition`] when this state does not allow it.
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
    fn final_states_stay() {
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
    fn the_way_to_a_verdict() {
        let judged = JobStatus::Queued.after(JobEvent::Started).and_then(|s| s.after(JobEvent::EpisodesDone));
        assert_eq!(judged.and_then(|s| s.after(JobEvent::Concluded)), Ok(JobStatus::Completed));
        assert!(JobStatus::Queued.after(JobEvent::Concluded).is_err());
        assert_eq!(JobStatus::parse("JUDGING"), Some(JobStatus::Judging));
        assert_eq!(JobStatus::parse("judging"), None);
    }
}
