//! The HTTP service: who asks (bearer keys), what is asked (one file an endpoint under `routes`), and how it is answered
//! (one error shape, request ids). It trusts nothing that comes in; it keeps what it accepts in [`assay_store::Records`]
//! and in files of the data folder, and nothing in memory.
//!
//! Invariants:
//! - Nothing is answered 201 before the archive and its rows are durable.
//! - No endpoint works without a key unless its row in the table of `routes` says so.
//! - Every error, also one that a library made, leaves in the one shape, with the request's id.
//! - No key is ever logged.
//!
//! Where to begin: [`AppState`], [`router`], then the table in `routes/mod.rs`.

mod artifacts;
mod boards;
mod disk;
mod events;
mod http;
pub mod keys;
mod linger;
mod outlook;
mod places;
mod ports;
mod published;
mod quota;
mod routes;
mod scenario_lookup;
mod seasons;
mod server;
mod sessions;
mod settings;
mod state;
mod upkeep;
mod upload;
mod webhooks;

pub use artifacts::{SignerError, UrlSigner};
pub use boards::Boards;
pub use disk::UploadRoom;
pub use events::EventHub;
pub use http::{RateWindows, router};
pub use outlook::Outlook;
pub use places::Places;
pub use ports::{
    Catalog, CheckedPolicy, CheckedServer, Draft, DraftFailure, Intake, IntakeFailure, Metrics, OsEntropy,
    PreflightFailure, PreflightRequest, Preflights, Publisher, ReplayFailure, Replayer, SigningKeys, StaticCatalog,
    WebhookSender,
};
pub use routes::{EndpointInfo, RateClass, endpoints};
pub use server::{ServeError, serve};
pub use settings::{
    AccountLimits, ApiSettings, BadSetting, BrowserSettings, DiskLimits, EventSettings, JobLimits, MetricsAccess,
    RateLimits, Retention, Seconds, Uploads, WebhookSettings,
};
pub use state::{AppState, Readiness};
pub use upkeep::upkeep;
pub use upload::{PrepareError, prepare_folders};
pub use webhooks::deliver_webhooks;
