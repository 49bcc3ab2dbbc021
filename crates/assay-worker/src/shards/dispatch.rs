//! Where shards come from and where their results go.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_model::{AccountId, Artifact, Assignment, AttemptNote, EpisodeResult, Fence, JobId, ShardReturn};
use assay_scenario::Scenario;
use assay_store::{
    ArchiveFile, BlobError, EpisodeProgress, Lease, ModelFile, PolicyServerAccess, RecordOutcome, ShardKind, StoreError,
};
use tempfile::TempDir;

use crate::{ServerCallError, SessionError};

/// The source of shards and the receiver of their results: the server's own records, or a server elsewhere. Its methods
/// block.
///
/// # Errors
/// [`DispatchError`]: the records, the storage, or the server are unavailable.
pub(crate) trait Dispatch: Send + Sync + fmt::Debug {
    /// Claims a shard of this kind that belongs to none of the `excluded` accounts. A dispatch whose
    /// [`Self::wait_for_work`] returns at once waits here instead, for `wait`.
    fn claim(
        &self,
        kind: ShardKind,
        excluded: &[AccountId],
        wait: Duration,
    ) -> Result<Option<Assignment>, DispatchError>;

    /// Waits until there may be work, at most for `limit`. Returns true if there is a hint of work.
    fn wait_for_work(&self, limit: Duration) -> bool;

    /// Renews the leases of shards. Returns those that are lost.
    fn renew(&self, held: &[Fence]) -> Result<Vec<Fence>, DispatchError>;

    /// Returns the scenario in the version that the job was accepted for.
    fn scenario(&self, assignment: &Assignment) -> Result<Arc<Scenario>, SessionError>;

    /// Returns the policy's archive as a file that does not change.
    fn archive(&self, assignment: &Assignment) -> Result<ArchiveFile, SessionError>;

    /// Returns the files of the models that the policy declares.
    fn models(&self, assignment: &Assignment) -> Result<Vec<ModelFile>, SessionError>;

    /// Returns the way to the policy's server.
    fn server(&self, assignment: &Assignment) -> Result<PolicyServerAccess, SessionError>;

    /// Creates a folder for evidence that is not stored yet, deleted when dropped.
    fn evidence_folder(&self) -> io::Result<TempDir>;

    /// Returns the folder of files that are about to be stored.
    fn storage_root(&self) -> &Path;

    /// Stores a file of evidence before a result refers to it.
    fn keep(&self, fence: Fence, file: &Artifact, path: &Path) -> Result<(), DispatchError>;

    /// Writes a result, whose files are all stored.
    fn record(&self, fence: Fence, result: &EpisodeResult) -> Result<RecordOutcome, DispatchError>;

    /// Called after a result was recorded with this outcome.
    fn recorded(&self, fence: Fence, result: &EpisodeResult, outcome: RecordOutcome);

    /// Stores a fact about an unfinished episode.
    fn note(&self, fence: Fence, note: &AttemptNote) -> Result<Lease, DispatchError>;

    /// Gives a shard back.
    fn give_back(&self, fence: Fence, how: ShardReturn) -> Result<(), DispatchError>;

    /// Receives the progress of an episode.
    fn progress(&self, job: JobId, progress: EpisodeProgress);

    /// Called when an episode no longer runs here.
    fn ended(&self, job: JobId, episode: u32);

    /// Called when the work on a shard has ended.
    fn released(&self, fence: Fence);

    /// Called when files can (`None`) or cannot be stored on this machine.
    fn storage_health(&self, shard: &Assignment, problem: Option<&str>);
}

/// The reason why a dispatch did not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DispatchError {
    /// The records.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The storage for evidence.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The inputs of an episode.
    #[error(transparent)]
    Inputs(#[from] SessionError),
    /// The server on another host.
    #[error(transparent)]
    Server(#[from] ServerCallError),
}

impl DispatchError {
    /// Logs the error, unless the outage that it is part of was logged already.
    pub(crate) fn log(&self, what: &str) {
        match self {
            Self::Store(error) => error.log(what),
            other => tracing::error!(error = %assay_model::ErrorChain(other), "{what}"),
        }
    }
}
