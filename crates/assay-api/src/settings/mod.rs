//! The settings that an operator may change: a struct per section of `assay.toml`, each in its own file, and
//! [`ApiSettings`], which combines them with values that the program determines itself. The program, not this module,
//! reads files and the environment.
//!
//! A section derives `Serialize`, `Deserialize` and `JsonSchema` with `#[serde(default, deny_unknown_fields)]`, has its
//! defaults in `Default`, and checks in `validate` the constraints that its types do not express. The comments on its
//! fields are the documentation of the settings file.

mod account;
mod api;
mod browsers;
mod disk;
mod events;
mod intervals;
mod invalid;
mod job;
mod metrics;
mod models;
mod rate;
mod retention;
mod seconds;
mod uploads;
mod webhooks;
mod workers;

pub use account::AccountLimits;
pub use api::ApiSettings;
pub use browsers::BrowserSettings;
pub use disk::DiskLimits;
pub use events::EventSettings;
pub use intervals::IntervalSettings;
pub use invalid::InvalidSetting;
pub use job::JobLimits;
pub use metrics::MetricsAccess;
pub use models::ModelSettings;
pub use rate::RateLimits;
pub use retention::Retention;
pub use seconds::Seconds;
pub use uploads::Uploads;
pub use webhooks::WebhookSettings;
pub use workers::WorkerSettings;
