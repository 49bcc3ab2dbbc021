//! What assay remembers: keys, jobs, shards, episode results, conclusions.
//!
//! Two traits keep the engines apart from the rest: [`Records`] is the truth, [`Queue`] only wakes and balances and may
//! lose or repeat anything. Each has a conformance suite (module `testing`, behind the feature of that name) that every
//! backend passes. The embedded backend is [`SqliteRecords`] with [`LocalQueue`].
//!
//! [`Blobs`] keeps the evidence, by job and hash; what there is of it stands in the results. [`RecordsCopy`] is what a backup is
//! made of.
//!
//! Invariants of every [`Records`] backend:
//! - What was answered is durable: a kill or a power cut after the answer loses nothing.
//! - Every change names the state and the attempt it expects. A worker whose lease was given to another is *fenced*: it
//!   changes nothing, and is told so.
//! - An episode's result is written once.
//! - Time comes in as an argument.
//!
//! Where to begin: [`Records`], then [`Claim`] and [`Fence`].

mod answers;
mod arena;
mod blobs;
mod board;
mod community;
mod conclusion;
mod error;
mod events;
mod full;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod health;
mod job;
mod key;
mod line;
mod live;
mod local_queue;
mod pack;
mod queue;
mod quota;
mod records;
mod removals;
mod renders;
mod review;
mod scenario_files;
mod servers;
mod session;
mod shard;
pub mod sqlite;
#[cfg(feature = "testing")]
pub mod testing;
mod webhooks;

pub use answers::{
    IdempotencyClaim, IdempotencyKey, IdempotencyRecords, IdempotencyStart, MAX_RESPONSE_BODY_BYTES,
    MAX_STORED_RESPONSES, REQUEST_LEASE, RESPONSE_LIFETIME, StoredResponse,
};
pub use arena::{
    ChooseOutcome, NewRerun, NewSeason, OpenSeasonOutcome, Season, SeasonPins, SeasonRecords, SeasonSecrets,
    SeasonState, SubmitOutcome,
};
pub use blobs::{BlobError, Blobs};
pub use board::{SeasonEntry, counted, entrants, season_entrants};
pub use community::{
    CommunityFilter, CommunityRecords, CommunityScenario, CommunitySort, CommunityVersion, InstalledVersion,
    NewVersion, PublishOutcome, PublishingFailures,
};
pub use conclusion::{ConclusionClaim, ConclusionFence, JobOutcome, SignedDocument, SignedDocuments};
pub use error::StoreError;
pub use events::{EventRecord, EventRecords};
pub use full::is_disk_full;
pub use health::StorageHealth;
pub use job::{CancelOutcome, JobCounts, JobFailure, JobFilter, JobRecord, JobState, NewJob};
pub use key::{KeyId, KeyRecord, RevokeOutcome};
pub use line::{EpisodeDuration, HiddenSubmission, OpenShard, QueueReader, QueueSnapshot};
pub use live::{EpisodeProgress, LiveProgress, LocalLiveProgress};
pub use local_queue::LocalQueue;
pub use pack::PackError;
pub use queue::{Queue, Work};
pub use quota::{AccountCaps, AccountUsage, Cap, CapExceeded, JobDemand, JobQuota, QuotaRecords};
pub use records::Records;
pub use removals::{EraseOutcome, REMOVAL_SETTLE_TIME, Removal, RemovalRecords, RemovalTimes};
pub use renders::{
    MAX_RENDER_RETRIES, RenderClaim, RenderCounts, RenderFence, RenderRecords, RenderRequestOutcome,
    RenderReturnOutcome, RenderedEpisode,
};
pub use review::{MAX_REVIEWS, ReviewOutcome};
pub use scenario_files::{ScenarioFiles, VersionSource};
pub use servers::{PolicyServerCredentials, PolicyServerCredentialsStore};
pub use session::{MAX_SESSIONS_OF_KEY, SessionHash, SessionRecord, SessionRecords};
pub use shard::{
    Claim, Fence, Lease, MAX_ATTEMPT_NOTES, MAX_LAPSES, MAX_RETRIES, ReconcileSummary, RecordOutcome, ReturnOutcome,
};
pub use sqlite::{RecordCounts, RecordsCopy, SqliteRecords};
pub use webhooks::{
    Delivery, DeliveryAttempt, DeliveryFilter, DeliveryState, MAX_KEPT_ATTEMPTS, WebhookRecords, WebhookSecrets,
};
