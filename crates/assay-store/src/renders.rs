//! Rendering of logs and videos after the verdict: a separate queue with the lowest priority.
//!
//! An episode to be rendered gets an entry together with its result. The commit that completes the job queues the
//! entries; if the job ends otherwise, they are deleted. Entries that are done list the rendered files.

use assay_model::lane::{RenderPart, files};
use assay_model::{AccountId, Artifact, EpisodeResult, JobHeader, JobId, Record};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::{Lease, StoreError};

/// Maximum number of retries of rendering a part.
pub const MAX_RENDER_RETRIES: u32 = 3;

/// The right to write the rendered files of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RenderFence {
    /// The job.
    pub job_id: JobId,
    /// The episode.
    pub episode: u32,
    /// Number of this claim of the episode, from 1.
    pub attempt: u32,
}

/// The renderings that a claim may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderChoice {
    /// The next one.
    Any,
    /// Of this job.
    Job(JobId),
    /// Of verifications: their worlds are no secret.
    Verifications,
    /// Of the arena.
    Arena,
}

/// A renderer's request for a part to render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderRequest<'a> {
    /// Name of the worker in the records.
    pub worker: &'a str,
    /// The renderings that it may be given.
    pub choice: RenderChoice,
    /// It is given nothing while it holds this many renderings.
    pub max_held: u32,
}

impl<'a> RenderRequest<'a> {
    /// Creates a request of `worker` for any part, however many it holds.
    #[must_use]
    pub fn new(worker: &'a str) -> Self {
        Self { worker, choice: RenderChoice::Any, max_held: u32::MAX }
    }

    /// Replaces the renderings that it may be given.
    #[must_use]
    pub fn of(self, choice: RenderChoice) -> Self {
        Self { choice, ..self }
    }

    /// Gives it nothing while it holds `most` renderings.
    #[must_use]
    pub fn holding_at_most(self, most: u32) -> Self {
        Self { max_held: most, ..self }
    }
}

/// A claimed part of an episode to render.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderClaim {
    /// Must be presented with the rendered files.
    pub fence: RenderFence,
    /// Log or video.
    pub part: RenderPart,
    /// The job's account.
    pub account: AccountId,
    /// The job.
    pub header: JobHeader,
    /// The episode, with its recording among its evidence.
    pub result: EpisodeResult,
    /// Files rendered before.
    pub drawn: Vec<Artifact>,
}

/// The rendered files of an episode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedEpisode {
    /// The episode.
    pub episode: u32,
    /// True if nothing more will be rendered.
    pub done: bool,
    /// Log, video and their statements, as far as they exist; named relative to the report.
    pub files: Vec<Artifact>,
    /// Missing parts, with reasons.
    pub notes: Vec<String>,
}

/// Result of returning a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderReturnOutcome {
    /// It can be claimed again.
    Requeued,
    /// Retries are exhausted: the part stays missing, with a note.
    GivenUp,
    /// The caller no longer held it; nothing changed.
    Fenced,
}

/// Result of requesting missing renders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderRequestOutcome {
    /// This number of episodes was queued; the others are complete, not requested, or already queued.
    Queued(u32),
    /// The job is not COMPLETED.
    NotCompleted,
    /// The recordings were removed.
    NoEvidence,
    /// There is no such job.
    NotFound,
}

/// Counts of a job's rendered episodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RenderCounts {
    /// Number of episodes to be rendered.
    pub total: u32,
    /// Number of those that are not done.
    pub open: u32,
    /// Number of those that do not even have a log.
    pub without_log: u32,
}

impl RenderCounts {
    /// Unpacks three counts of 20 bits each: total, open and without log. A job has far fewer episodes, and a single
    /// subquery keeps reads of jobs fast.
    pub(crate) fn unpack(packed: i64) -> Self {
        let count = |shift: u32| u32::try_from((packed >> shift) & 0xF_FFFF).unwrap_or_default();
        Self { total: count(0), open: count(20), without_log: count(40) }
    }
}

/// Returns true if one of the files has this name, in any folder.
pub(crate) fn has_file(files: &[Artifact], name: &str) -> bool {
    files.iter().any(|file| file.name.rsplit('/').next() == Some(name))
}

/// Returns true if a new result of a job is to be rendered once the job has a verdict. Files that its evidence already
/// contains (the showcase of a submission) are not rendered again.
pub(crate) fn is_rendered_later(header: &JobHeader, result: &EpisodeResult) -> bool {
    has_file(&result.evidence, files::TRACE) && !has_file(&result.evidence, files::LOG) && header.record.wants(result)
}

/// Maximum length of a stored note, in bytes.
pub(crate) const MAX_NOTE_BYTES: usize = 2048;
/// Note for an episode whose renderers disappeared too often.
pub(crate) const DISAPPEARED: &str = "it could not be rendered: its renderers disappeared too often";

/// Repository of renders.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait RenderRecords {
    /// Claims the next part to render until `now + lease`: parts that failed last, logs before videos, episodes with a
    /// violation before others, older jobs before newer ones.
    async fn claim_render(
        &self,
        request: RenderRequest<'_>,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<RenderClaim>, StoreError>;

    /// Returns a part with this claim, as long as its holder holds it.
    async fn leased_render(&self, fence: RenderFence) -> Result<Option<RenderClaim>, StoreError>;

    /// Returns true if a part waits for a renderer.
    async fn has_renders(&self) -> Result<bool, StoreError>;

    /// Extends a lease to `now + lease`.
    async fn heartbeat_render(
        &self,
        fence: RenderFence,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Lease, StoreError>;

    /// Writes the files of the claimed part and the notes on missing ones; after the log the video is queued. Returns
    /// false if the claim is no longer valid.
    async fn record_render(
        &self,
        fence: RenderFence,
        files: Vec<Artifact>,
        notes: Vec<String>,
    ) -> Result<bool, StoreError>;

    /// Returns a claim to the queue. With a `note` it counts as a failure; after [`MAX_RENDER_RETRIES`] retries the
    /// part is abandoned and the note is stored with the episode.
    async fn return_render(&self, fence: RenderFence, note: Option<&str>) -> Result<RenderReturnOutcome, StoreError>;

    /// Lists the rendered episodes of a job, by index.
    async fn renders(&self, job: JobId) -> Result<Vec<RenderedEpisode>, StoreError>;

    /// Queues the episodes of a COMPLETED job that `record` selects and whose video is missing, including those given
    /// up before.
    async fn request_renders(&self, job: JobId, record: Record) -> Result<RenderRequestOutcome, StoreError>;
}
