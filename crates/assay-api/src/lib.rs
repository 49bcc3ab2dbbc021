//! The HTTP service: authentication (bearer keys), the endpoints (a file each under `routes`), and the form of
//! responses (a common form of errors, request ids). It trusts no input. It keeps everything that it accepts in
//! [`assay_store::Records`] and in files of the data folder, and nothing in memory.
//!
//! Invariants:
//! - A 201 is sent only after the archive and its rows are durable.
//! - No endpoint works without a key unless its row in the list in `routes` says so.
//! - Every error, including one created by a library, has the common form, with the request's id.
//! - No key is ever logged.
//!
//! Where to begin: [`AppState`], [`router`], then the list of endpoints in `routes/list.rs`.

mod acceptance;
mod account_slots;
mod archive;
mod blob_error;
mod boards;
mod book;
mod claim_pauses;
mod connections;
mod disk;
mod events;
mod evidence_allowances;
mod evidence_usage;
mod folder_locks;
mod forecast;
mod http;
pub mod keys;
mod lane_demand;
mod linger;
mod links;
mod maintenance;
mod metrics_server;
mod models;
mod ports;
mod published;
mod quota;
mod rejected_heads;
mod remembered_scenarios;
mod report_assets;
mod routes;
mod scenario_lookup;
mod seasons;
mod server;
mod sessions;
mod settings;
mod sign_in;
mod signed_urls;
mod site_exchange;
mod state;
mod ui;
mod upload;
mod upload_space;
mod views;
mod waiting_claims;
mod webhooks;
mod worker_fleet;
mod worker_protocol;

pub use account_slots::AccountSlots;
pub use boards::Boards;
pub use connections::ConnectionTokens;
pub use events::EventHub;
pub use evidence_usage::EvidenceUsage;
pub use folder_locks::FolderLocks;
pub use forecast::QueueForecast;
pub use http::{RateWindows, router};
pub use maintenance::run_maintenance;
pub use metrics_server::serve_metrics;
pub use models::ModelTransfers;
pub use ports::{
    AuditFinding, Catalog, CheckedPolicy, CheckedServer, Draft, DraftFailure, EpisodeAuditor, EpisodeToAudit,
    IntakeFailure, Metrics, OsEntropy, PolicyConnections, PolicyIntake, PolicyReservation, PreflightFailure,
    PreflightRequest, Preflights, Publisher, RemoteRendering, RenderingSigner, ReplayFailure, Replayer, SigningKeys,
    StaticCatalog, WebhookSender,
};
pub use routes::{EndpointInfo, RateClass, endpoints};
pub use server::{ServeError, serve};
pub use settings::{
    AccountLimits, ApiSettings, BrowserSettings, DiskLimits, EventSettings, IntervalSettings, InvalidSetting,
    JobLimits, MetricsAccess, ModelSettings, RateLimits, Retention, Seconds, Uploads, WebhookSettings, WorkerSettings,
};
pub use signed_urls::{SignerError, UrlSigner};
pub use site_exchange::exchange_with_other_servers;
pub use state::{AppState, Readiness};
pub use upload::{PolicyArchives, PrepareError, prepare_folders, remove_partial_uploads};
pub use upload_space::UploadSpace;
pub use webhooks::deliver_webhooks;
pub use worker_fleet::{WakingQueue, WorkerFleet};
pub use worker_protocol::attend_workers;
#[cfg(any(test, feature = "fuzzing"))]
pub use worker_protocol::fuzzing;
