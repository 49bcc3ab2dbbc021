//! The state of a lane's work on a job. [`super::session`] runs the episodes, [`super::attempt`] one try at an episode.

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
    /// Facts that outlive the attempts at episodes without a result.
    pub(crate) notes: Vec<AttemptNote>,
    /// An attempt is under way, and its policy may have received something.
    pub(crate) begun: bool,
    /// No other worker will retry its episodes.
    pub(super) is_last_try: bool,
    /// Set when no further episode should begin.
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
        Ok(Self { host, job, core, cancel, staged, lane: None, notes, begun, is_last_try: true, stopping })
    }

    /// Uses a lane that was started in advance.
    pub(crate) fn with(self, lane: Option<Box<dyn Lane>>) -> Self {
        Self { lane, ..self }
    }

    /// Adds the notes of earlier sessions on its episodes.
    pub(crate) fn with_earlier_notes(self, notes: Vec<AttemptNote>) -> Self {
        Self { notes, ..self }
    }

    /// Sets whether the job is given up if an episode cannot be run.
    pub(crate) fn last_try(self, is_last_try: bool) -> Self {
        Self { is_last_try, ..self }
    }

    /// Begins no further episode once `stopping` is raised.
    pub(crate) fn stopping(self, stopping: Cancel) -> Self {
        Self { stopping, ..self }
    }

    /// Returns the lane, which the caller can end at a convenient time.
    pub(crate) fn into_lane(self) -> Option<Box<dyn Lane>> {
        self.lane
    }
}
