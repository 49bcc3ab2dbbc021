//! Runs evaluations: lanes and policies in their jails, results recorded, jobs concluded.
//!
//! Both entry points share everything below them: [`evaluate`] runs one job to its end for the command line;
//! [`WorkerService`] leases shards from the records, episode by episode, for the server.
//!
//! Where to begin: [`Engine`] (what an installation can run), `session` (episodes on one lane), `lane_process` (one
//! simulator).

mod audit;
mod cancel;
mod engine;
mod episode;
mod evaluate;
mod judging;
mod preflight;
mod remote_server;
mod rendering;
mod replay;
mod scenario_check;
mod service;
mod shards;
mod signing;
mod work;

pub use audit::{AuditOutcome, ReportedEpisode, audit};
pub use cancel::Cancel;
pub use engine::Engine;
pub use engine::engine_error::EngineError;
pub use engine::installation::{Installation, InstallationError};
pub use engine::models::ModelsNotRun;
pub use engine::not_isolated::NotIsolated;
pub use engine::options::{EngineOptions, WallBudget};
pub use engine::scenario_versions::ScenarioGone;
pub use episode::adapter_mapping::adapter_mismatch;
pub use episode::job::Job;
pub use episode::policy::{PolicyFolder, PolicySource};
pub use episode::rejection::Rejection;
pub use episode::session_error::SessionError;
pub use episode::standalone::{StartedPolicy, start_policy};
pub use evaluate::{Evaluation, EvaluationEvents, evaluate};
pub use judging::Judging;
pub use preflight::{PreflightJob, preflight};
pub use remote_server::{CacheError, InputCache, RemoteWorker, RemoteWorkerOptions, ServerCallError, WorkerStop};
pub use rendering::drawing::{
    DrawEvents, DrawJob, DrawTools, RenderedFrom, RenderedPart, RenderingError, drawn_in, image_bytes, render_parts,
    signed, undrawn,
};
pub use rendering::video::{RendererError, check_rendering};
pub use rendering::video_format::{InvalidVideoFormat, VideoFormat};
pub use replay::{Replay, ReplayError, ReplayOptions, SERVED_REPLAY, replay};
pub use scenario_check::examine::{ExamineError, check, draw};
pub use scenario_check::publish_check::{PublishCheck, publish_check};
pub use service::{ServiceOptions, WorkerService};
pub use signing::keyring::{Keyring, KeyringError};
pub use signing::statement::{STATEMENT_FILE, SignError, evidence_in, sha256_of, sign};
