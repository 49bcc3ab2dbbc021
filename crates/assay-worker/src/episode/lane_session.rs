//! State of a lane's work on a job. [`super::session`] runs the episodes, [`super::attempt`] a single attempt at one.

use std::time::Duration;

use assay_model::AttemptNote;

use crate::engine::Staged;
use crate::episode::host::EpisodeHost;
use crate::episode::lane::Lane;
use crate::{Cancel, Job, SessionError};

/// One lane's work on a job.
pub(crate) struct LaneSession<'a> {
    pub(crate) host: &'a dyn EpisodeHost,
    pub(crate) job: &'a Job,
    pub(crate) core: usize,
    pub(crate) cancel: &'a Cancel,
    pub(crate) staged: Staged,
    pub(crate) lane: Option<Box<dyn Lane>>,
    /// Notes of earlier attempts at episodes that have no result yet.
    pub(crate) notes: Vec<AttemptNote>,
    /// True while an attempt is under way and its policy may have received something.
    pub(crate) begun: bool,
    /// Maximum CPU time of lane and policy together with the policy's sleep, in an episode.
    pub(super) work_limit: Option<Duration>,
    /// True if no other worker will retry the episodes.
    pub(super) is_last_try: bool,
    /// Set when no further episode should start.
    pub(super) stopping: Cancel,
}

impl<'a> LaneSession<'a> {
    pub(crate) fn new(
        host: &'a dyn EpisodeHost,
        job: &'a Job,
        core: usize,
        cancel: &'a Cancel,
    ) -> Result<Self, SessionError> {
        let staged = host.staged(&job.scenario).map_err(SessionError::of)?;
        let (notes, begun, stopping) = (Vec::new(), false, Cancel::new());
        Ok(Self {
            host,
            job,
            core,
            cancel,
            staged,
            lane: None,
            notes,
            begun,
            work_limit: None,
            is_last_try: true,
            stopping,
        })
    }

    /// Uses a lane that was started in advance.
    pub(crate) fn with(self, lane: Option<Box<dyn Lane>>) -> Self {
        Self { lane, ..self }
    }

    /// Sets the maximum CPU time of lane and policy together with the policy's sleep, in an episode.
    pub(crate) fn limited_to(self, work_limit: Option<Duration>) -> Self {
        Self { work_limit, ..self }
    }

    /// Adds the notes of earlier sessions on its episodes.
    pub(crate) fn with_earlier_notes(self, notes: Vec<AttemptNote>) -> Self {
        Self { notes, ..self }
    }

    /// Sets whether the job fails if an episode cannot be run.
    pub(crate) fn last_try(self, is_last_try: bool) -> Self {
        Self { is_last_try, ..self }
    }

    /// Sets the flag that keeps further episodes from starting.
    pub(crate) fn stopping(self, stopping: Cancel) -> Self {
        Self { stopping, ..self }
    }

    /// Returns the lane, which the caller can end at a convenient time.
    pub(crate) fn into_lane(self) -> Option<Box<dyn Lane>> {
        self.lane
    }
}
