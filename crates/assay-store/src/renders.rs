//! What is drawn of a job's episodes once its verdict is there: a queue of its own, behind everything else.
//!
//! An episode that is to have a log and a video gets its row with its result; the rows are queued by the commit that
//! completes the job, and removed with whatever ends it otherwise. Rows that are done say what was drawn.

use assay_model::lane::RenderPart;
use assay_model::{Artifact, EpisodeResult, JobHeader, JobId, Record};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::{Lease, StoreError};

/// A part that could not be drawn is tried this many times again, then it is given up.
pub const MAX_RENDER_RETRIES: u32 = 3;

/// The right to write what was drawn of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RenderFence {
    /// The job.
    pub job_id: JobId,
    /// The episode.
    pub episode: u32,
    /// Which claim of it this is, from 1.
    pub attempt: u32,
}

/// Something to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderClaim {
    /// What to show with what was drawn.
    pub fence: RenderFence,
    /// Log or video.
    pub part: RenderPart,
    /// The job.
    pub header: JobHeader,
    /// The episode, with its recording among its evidence.
    pub result: EpisodeResult,
    /// What was drawn of it before.
    pub drawn: Vec<Artifact>,
}

/// What was drawn of an episode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedEpisode {
    /// The episode.
    pub episode: u32,
    /// Nothing more is drawn of it.
    pub done: bool,
    /// Log, video and their statements, as far as they are there; named relative to the report.
    pub files: Vec<Artifact>,
    /// What is missing, and why.
    pub notes: Vec<String>,
}

/// What became of a claim that was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderReturnOutcome {
    /// It will be claimed again.
    Requeued,
    /// Retries are used up: the part stays missing, with a note.
    GivenUp,
    /// It was not the caller's any more; nothing changed.
    Fenced,
}

/// What became of a request to draw what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderRequestOutcome {
    /// So many episodes were queued; the others have all, or are not wanted, or are queued already.
    Queued(u32),
    /// The job is not COMPLETED.
    NotCompleted,
    /// The recordings are gone.
    NoEvidence,
    /// There is no such job.
    NotFound,
}

/// How many of a job's episodes are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RenderCounts {
    /// Episodes that get a log and a video.
    pub total: u32,
    /// Of those, the ones that are still to be drawn.
    pub open: u32,
    /// Of those, the ones of which not even the log is there.
    pub without_log: u32,
}

/// The part of the records that renderers work with.
///
/// # Errors
/// [`StoreError`] when the engine fails.
#[async_trait]
pub trait RenderRecords {
    /// Takes what is to be drawn next (of `job`, if one is given), until `now + lease`: logs before videos, episodes with a
    /// violation before others, older jobs before newer ones; what failed comes after what did not.
    async fn claim_render(
        &self,
        worker: &str,
        job: Option<JobId>,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<RenderClaim>, StoreError>;

    /// Prolongs a lease to `now + lease`.
    async fn heartbeat_render(
        &self,
        fence: RenderFence,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Lease, StoreError>;

    /// Writes the files of the claimed part, and what is missing; after the log the video is queued. False if the claim is
    /// not valid any more.
    async fn record_render(
        &self,
        fence: RenderFence,
        files: Vec<Artifact>,
        notes: Vec<String>,
    ) -> Result<bool, StoreError>;

    /// Hands a claim back. With a `note` it counts as a failure; after [`MAX_RENDER_RETRIES`] retries the part is given up,
    /// and the note stands with the episode.
    async fn return_render(&self, fence: RenderFence, note: Option<&str>) -> Result<RenderReturnOutcome, StoreError>;

    /// What was drawn of a job's episodes, by index.
    async fn renders(&self, job: JobId) -> Result<Vec<RenderedEpisode>, StoreError>;

    /// Queues the episodes of a COMPLETED job that `record` names and whose video is missing, also after they were given up.
    async fn request_renders(&self, job: JobId, record: Record) -> Result<RenderRequestOutcome, StoreError>;
}
