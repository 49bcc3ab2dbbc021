//! Runs evaluations: lanes and policies in their jails, results recorded, jobs concluded.
//!
//! Two ways in share everything below them: [`evaluate`] runs one job to its end for the command line; [`WorkerService`]
//! leases shards from the records, episode by episode, for the server.
//!
//! Where to begin: [`Engine`] (what an installation can run), `session` (episodes on one lane), `lane_process` (one
//! simulator).

mod attempt;
mod cancel;
mod drawing;
mod engine;
mod evaluate;
mod evidence;
mod examine;
mod fingerprint;
mod finisher;
mod installation;
mod judging;
mod keyring;
mod lane_process;
mod policy;
mod pools;
mod preflight;
mod replay;
mod results;
mod scenario_versions;
mod scratch;
mod service;
mod session;
mod statement;
mod vet;
mod video;

pub use cancel::Cancel;
pub use drawing::{DrawEvents, DrawJob, DrawTools, Drawn, RenderingError, draw_all, drawn_in, frames_of, undrawn};
pub use engine::{Engine, EngineError, EngineOptions, NotIsolated, WallBudget};
pub use evaluate::{Evaluation, EvaluationEvents, evaluate};
pub use evidence::{DEFAULT_JOB_BYTES, episode_share};
pub use examine::{ExamineError, check, draw};
pub use installation::{Installation, InstallationError};
pub use judging::Judging;
pub use keyring::{Keyring, KeyringError};
pub use policy::PolicySource;
pub use preflight::{PreflightJob, preflight};
pub use replay::{Replay, ReplayError, replay};
pub use scenario_versions::ScenarioGone;
pub use service::{ServiceOptions, WorkerService};
pub use session::{Job, SessionError};
pub use statement::{STATEMENT_FILE, SignError, evidence_in, sha256_of, sign};
pub use vet::{Vetted, vet};
pub use video::check_rendering;
