//! The durable state of assay: keys, jobs, shards, episode results, conclusions, and the evidence files.
//!
//! Two traits separate the engines from the rest: [`Records`] is the source of truth, [`Queue`] only wakes and balances
//! workers and may lose or repeat messages. [`Records`] is the union of one repository per concern ([`JobRecords`],
//! [`ShardRecords`], ...), each in a file of its own. Both traits have a conformance suite (crate
//! `assay-store-testing`) that every backend passes. The embedded backend is [`SqliteRecords`] with [`LocalQueue`];
//! `docs/adding-a-storage-backend.md` describes the way to another one.
//!
//! [`Blobs`] stores the evidence, by job and hash; the results list it. [`ArchiveFiles`] stores the archives of
//! policies. Both are folders, or in an object store ([`ObjectStorage`]). [`ModelFiles`] stores models, by account.
//! [`RecordsCopy`] is the copy of the records in a backup.
//!
//! Invariants of every [`Records`] backend:
//! - A change that was acknowledged is durable: a kill or a power cut afterwards loses nothing.
//! - Every change names the state and the attempt that it expects. A worker whose lease has passed to another is
//!   *fenced*: its changes have no effect, and their results tell it so.
//! - An episode's result is written once.
//! - The current time is an argument.
//!
//! To start reading: [`Records`], then [`Claim`] and [`Fence`].

mod accesses;
mod archive_files;
mod blobs;
mod caps;
mod community;
mod conclusions;
mod disk_full;
mod error;
mod events;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod health;
mod idempotency;
mod jobs;
mod keys;
mod known_keys;
mod live_progress;
mod local_queue;
mod model_files;
mod models;
mod object_storage;
mod pack;
mod policy_server_credentials;
pub mod postgres;
mod queue;
mod queue_snapshot;
mod quotas;
mod records;
mod recovery;
mod removals;
mod renders;
mod reviews;
mod scenario_files;
mod season_entries;
mod seasons;
mod sessions;
mod shard_request;
mod shards;
mod site;
pub mod sqlite;
mod submissions;
mod task_files;
mod webhooks;
mod worker_conduct;
mod workers;

pub use accesses::{ACCESS_WINDOW, AccessFilter, AccessRecord, AccessRecords, MAX_ACCESS_TARGET_BYTES};
pub use archive_files::{ARCHIVE_SETTLE_TIME, ArchiveFile, ArchiveFileError, ArchiveFiles, ArchiveRemovalOutcome};
pub use assay_model::Fence;
pub use blobs::{BlobError, Blobs, PackedFormError};
pub use caps::{AccountCaps, AccountUsage, Cap, CapExceeded, JobDemand, JobQuota};
pub use community::{
    CommunityFilter, CommunityRecords, CommunityScenario, CommunitySort, CommunityVersion, InstalledVersion,
    NewVersion, PublishOutcome, PublishingFailures,
};
pub use conclusions::{
    ConclusionClaim, ConclusionFence, ConclusionRecords, JobOutcome, SignedDocument, SignedDocuments,
};
pub use disk_full::is_disk_full;
pub use error::{DatabaseProblem, StoreError};
pub use events::{EventPosition, EventRecord, EventRecords};
pub use health::StorageHealth;
pub use idempotency::{
    IdempotencyClaim, IdempotencyKey, IdempotencyRecords, IdempotencyStart, MAX_RESPONSE_BODY_BYTES,
    MAX_STORED_RESPONSES, REQUEST_LEASE, RESPONSE_LIFETIME, StoredResponse,
};
pub use jobs::{CancelOutcome, JobCounts, JobFailure, JobFilter, JobRecord, JobRecords, JobState, NewJob};
pub use keys::{KeyId, KeyRecord, KeyRecords, RevokeOutcome};
pub use live_progress::{EpisodeProgress, LiveProgress};
pub use local_queue::LocalQueue;
pub use model_files::{ModelFile, ModelFileError, ModelFiles, StoredModelFile};
pub use models::{
    AnnounceOutcome, MAX_LISTED_JOBS, ModelQuota, ModelRecord, ModelRecords, ModelRemoval, ModelState, NewModel,
};
pub use object_storage::{
    BucketAddress, InvalidBucketAddress, ObjectStorage, ObjectStorageError, ObjectStorageOptions, ObjectStorageProblem,
};
pub use pack::PackError;
pub use policy_server_credentials::{PolicyServerAccess, PolicyServerCredentials, PolicyServerCredentialsStore};
pub use postgres::{
    ImportedTable, PostgresOpenError, PostgresOptions, PostgresRecords, RecordsImport, RecordsImportError,
};
pub use queue::{Queue, Work};
pub use queue_snapshot::{EpisodeDuration, HiddenSubmission, OpenShard, QueueReader, QueueSnapshot};
pub use quotas::QuotaRecords;
pub use records::Records;
pub use recovery::{ReconcileSummary, RecoveryRecords};
pub use removals::{EraseOutcome, EvidenceRemoval, REMOVAL_SETTLE_TIME, Removal, RemovalRecords, RemovalTimes};
pub use renders::{
    MAX_RENDER_RETRIES, RenderChoice, RenderClaim, RenderCounts, RenderFence, RenderRecords, RenderRequest,
    RenderRequestOutcome, RenderReturnOutcome, RenderedEpisode,
};
pub use reviews::{MAX_REVIEWS, ReviewOutcome, ReviewRecords};
pub use scenario_files::{ScenarioFiles, VersionSource};
pub use season_entries::{SeasonEntry, entrants, season_entrants, season_entries};
pub use seasons::{
    NewRerun, NewSeason, OpenSeasonOutcome, Season, SeasonPins, SeasonRecords, SeasonSecrets, SeasonState, seeds_of_job,
};
pub use sessions::{MAX_SESSIONS_OF_KEY, SessionHash, SessionRecord, SessionRecords};
pub use shard_request::{Confinement, ExcludedShards, JobDemands, ShardKind, ShardRequest, WorkerCapabilities};
pub use shards::{
    Claim, Lease, MAX_ATTEMPT_NOTES, MAX_LAPSES, MAX_RETRIES, RecordOutcome, ReturnOutcome, ShardRecords,
};
pub use site::{
    Bulletin, ConnectionTokenRecord, JobEpisodeProgress, RequestCounter, SITE_LEASE, Site, SiteExchange, SiteRecords,
    UploadCount,
};
pub use sqlite::{OpenError, RecordCounts, RecordsCopy, SqliteRecords};
pub use submissions::{ChooseOutcome, SubmissionRecords, SubmitOutcome};
pub use task_files::{TaskFence, TaskFiles, TaskState};
pub use webhooks::{
    Delivery, DeliveryAttempt, DeliveryFilter, DeliveryState, MAX_KEPT_ATTEMPTS, WebhookRecords, WebhookSecrets,
};
pub use worker_conduct::{ClaimsWithoutResult, WorkerConduct, WorkerConductRecords};
pub use workers::{NewWorker, WorkerName, WorkerRecord, WorkerRecords, WorkerRemoval, WorkerState};
