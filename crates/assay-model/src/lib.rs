//! The vocabulary of assay: ids, states, verdicts, results, scores, statistics, and the byte formats used between its
//! processes. The crate is pure: it never reads a clock, file, socket or random source; these are arguments or ports.
//!
//! Starting points: [`EpisodeResult`] is the result of one episode, [`conclude`] turns all episodes of a job into a
//! [`Conclusion`] (verdict, scores, statistics), and [`JobReport`] is the object that a client reads.

mod arena;
mod assignment;
mod attempt;
mod bounded_mean;
mod clause_event;
mod complaint;
mod conclusion;
mod declared_model;
mod default_limits;
mod digest;
mod drawn_range;
mod earlier_reason;
mod episode;
mod error_chain;
mod evidence_share;
pub mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod harm;
mod hex;
mod id;
mod image_cost;
mod isolation;
mod judge;
mod judgement;
pub mod lane;
mod plan;
mod plots;
mod policy_error_code;
mod policy_identity;
mod policy_key;
mod ports;
mod preflight;
mod publication;
mod quantity;
mod ranking;
mod recording;
mod render_protocol;
mod replaced_attempt;
mod replay;
mod report;
mod review;
mod rounding;
mod runtime;
mod scenario_card;
mod scope;
mod score;
mod score_interval;
mod scorer;
mod secret;
mod seed;
mod seed_bits;
mod sensitivity;
mod server_limits;
mod state;
mod statistics;
mod task_protocol;
mod text;
mod verdict;
mod worker_protocol;

pub use arena::{ArenaEntry, JobKind, SHOWCASE_EPISODES};
pub use assignment::{AssignedPolicy, Assignment, Fence};
pub use attempt::{AttemptNote, NoteOrigin};
pub use clause_event::{ClauseEvent, EventBody, EventMoment, Gravity};
pub use complaint::plain_complaint;
pub use conclusion::{Conclusion, Quadrants, conclude, conclude_by};
pub use declared_model::DeclaredModel;
pub use default_limits::{
    MAX_ARCHIVE_BYTES, MAX_MODEL_BYTES, MAX_SCENARIO_ARCHIVE_BYTES, WALL_BUDGET_PER_SIMULATED_S, WALL_BUDGET_S,
};
pub use digest::{InvalidDigest, Sha256Digest, Sha256Writer, digest_or_none};
pub use drawn_range::{DrawnFrom, DrawnRange, MAX_DRAWN_RANGES};
pub use earlier_reason::earlier_unsafe_reason;
pub use episode::{
    Artifact, ClauseResult, EpisodeError, EpisodeResult, EpisodeStatus, Involved, LatencyMs, LogType, MAX_UNCONFIRMED,
    MAX_VIOLATIONS_PER_CLAUSE, StageResult, Termination, Violation,
};
pub use error_chain::ErrorChain;
pub use evidence_share::{DEFAULT_EVIDENCE_BYTES, MAX_EPISODE_EVIDENCE_BYTES, episode_share};
pub use harm::Harm;
pub use hex::{bytes_from_hex, from_hex, to_hex};
pub use id::{AccountId, IdError, JobId, ModelUploadId, RuntimeName, ScenarioId};
pub use image_cost::ImageCost;
pub use isolation::Isolation;
pub use judge::{agreement, moments, worth_judging};
pub use judgement::{Judgement, Opinion};
pub use plan::{NOTHING_DRAWN, Plan};
pub use plots::{ClausePlot, EpisodePlots, LATENCY_EDGES_MS};
pub use policy_error_code::{OtherCode, PolicyErrorCode};
pub use policy_identity::PolicyIdentity;
pub use policy_key::{InvalidPolicyKey, PolicyKey, job_seeds};
pub use ports::{Clock, Entropy, SystemClock};
pub use preflight::{ActionTerm, Finding, FindingLevel, ObservedTerm, PolicyBudget, Preflight, ServerAnswers};
pub use publication::{Grid, error_class};
pub use quantity::{number, seconds, trim_zeros, with_unit};
pub use ranking::{Entrant, Place, Worlds, rank, rank_together};
pub use recording::{MAX_RECORDING_HEADER_BYTES, RECORDING_MAGIC, RecordingError, RecordingHeader, StepEncoder};
pub use render_protocol::{
    AssignedRender, LeasedRender, MAX_RENDERED_HEAD_BYTES, RenderClaimAnswer, RenderClaimRequest, RenderReturn,
    RenderedFileList,
};
pub use replaced_attempt::{MAX_EVIDENCE_BYTES, ReplacedAttempt, ReplacementReason};
pub use replay::{Comparison, Difference, DifferenceCause, FingerprintDifference};
pub use report::{Fingerprint, JobHeader, JobMode, JobProgress, JobReport, JobStage, PublishedProgress, Record};
pub use review::{MAX_REVIEW_REASON_CHARS, Review, ReviewDecision};
pub use rounding::{round3, round4, unsigned_zero};
pub use runtime::{RuntimeCard, RuntimeVersion};
pub use scenario_card::{ONE_WORLD, ScenarioCard};
pub use scope::{Scope, ScopeError, Scopes};
pub use score::{JobScores, consistency, episode_composite, severity};
pub use score_interval::{EpisodeScore, INTERVAL_METHOD};
pub use scorer::Scorer;
pub use secret::Secret;
pub use seed::{AssignedEpisode, EpisodeSeeds, Generator, SeasonSecret, SeedSource};
pub use seed_bits::PUBLIC_SEED;
pub use sensitivity::{ClauseSensitivity, SafeSide, SensitivityRow, safe_side, sensitivity};
pub use server_limits::{MAX_CONCURRENCY, MAX_REPLAN_STEPS};
pub use state::{InvalidTransition, JobEvent, JobStatus};
pub use statistics::{Statistics, confidence_below, episodes_needed, violation_upper_bound};
pub use task_protocol::{LeasedTask, TaskAnswer, TaskClaimAnswer, TaskClaimRequest, WorkerTask};
pub use text::{is_hidden, sanitise};
pub use verdict::{Blame, ClauseStatus, Level, ReviewReason, Verdict};
pub use worker_protocol::{
    ClaimAnswer, ClaimRequest, GENERATION_HEADER, HeartbeatAnswer, HeartbeatRequest, LeasedResult, LeasedShard,
    MAX_CLAIM_WAIT_S, MAX_RESULTS, NoteRequest, PACKED_EVIDENCE, PackedRuntime, RegisterAnswer, RegisterRequest,
    ResultOutcome, ResultsAnswer, ResultsRequest, RunningEpisode, ScenarioFile, ScenarioListing, ServerCall,
    ShardReturn, WORKER_HEARTBEAT_S, WORKER_LEASE_S, WORKER_PROTOCOL, WORKER_PROTOCOL_PATH, WantedShard,
    WorkerRegistration,
};
