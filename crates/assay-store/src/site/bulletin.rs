//! The state of a server process, which the others of its site include in their counts.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{AccountId, JobId, Sha256Digest};
use serde::{Deserialize, Serialize};

/// The state of a server process, as it last reported it to the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bulletin {
    /// Number of its lanes.
    pub lanes: u32,
    /// Digest of the fingerprint of its lanes.
    pub machine: Option<Sha256Digest>,
    /// Number of open streams by account.
    pub streams: BTreeMap<AccountId, usize>,
    /// Accounts whose preflights run.
    pub preflights: BTreeSet<AccountId>,
    /// Accounts whose scenarios are being checked for publication.
    pub publications: BTreeSet<AccountId>,
    /// Accounts that download an archive.
    pub downloads: BTreeSet<AccountId>,
    /// Uploads in progress by account.
    pub uploads: BTreeMap<AccountId, UploadCount>,
    /// Bytes announced by all uploads and not written yet.
    pub pending_bytes: u64,
    /// Jobs whose policies are connected to it.
    pub connected: BTreeSet<JobId>,
    /// Jobs of which an episode waits there for its policy to connect.
    pub awaited: BTreeSet<JobId>,
    /// Running episodes whose progress was reported to it.
    pub running: Vec<JobEpisodeProgress>,
    /// Episodes that were recently reported to it as no longer running.
    pub ended: Vec<(JobId, u32)>,
}

/// The uploads of an account in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadCount {
    /// Number of requests.
    pub bodies: u64,
    /// Bytes announced by them, written or not.
    pub bytes: u64,
}

/// Progress of a running episode of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEpisodeProgress {
    /// The job.
    pub job_id: JobId,
    /// Index of the episode.
    pub episode: u32,
    /// Control steps done.
    pub step: u32,
    /// Maximum number of control steps.
    pub max_steps: u32,
}
