//! The settings of `assay serve`: a file (`assay.toml`), overridden by the environment, overridden by flags. Each value
//! has its origin.
//!
//! To add a section, write its struct in a file of its own (here, or in `assay-api` if requests need it), give it a
//! field in [`Settings`] and a line in [`Settings::validate`], and run
//! `assay serve --example-settings > docs/assay.example.toml`. Environment variables, `--set`, `--check`, the example
//! file and the rejection of unknown keys are derived from the struct and its doc comments.
//!
//! Where to begin: [`Effective::load`].

mod blobs;
mod example;
mod isolation;
mod judge;
mod keys;
mod layers;
mod limits;
mod load;
mod log;
mod server;
mod show;
mod sources;
mod store;
mod types;

use assay_api::{
    BrowserSettings, EventSettings, IntervalSettings, InvalidSetting, ModelSettings, Retention, Uploads,
    WebhookSettings, WorkerSettings,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::blobs::{BlobSettings, DownloadRoute};
pub(crate) use self::example::example;
pub(crate) use self::isolation::{WeakerIsolation, accepted_isolation};
pub(crate) use self::judge::JudgeSettings;
pub(crate) use self::limits::LimitSettings;
pub(crate) use self::load::Effective;
pub(crate) use self::log::{LogFormat, LogLevel};
pub(crate) use self::server::{DEFAULT_METRICS_LISTEN, MAX_EVIDENCE_MIB, MAX_LANES, ServerSettings};
pub(crate) use self::sources::SettingSources;
pub(crate) use self::store::StoreSettings;
pub(crate) use self::types::{Network, SecretText};

/// All sections.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// The server: its address, its data folder, and the isolation of policies.
    pub(crate) server: ServerSettings,
    /// The records: in a database in the data folder, or on a PostgreSQL server, which several servers can share.
    pub(crate) store: StoreSettings,
    /// Evidence and policy archives: in the data folder, or in an object store (S3).
    pub(crate) blobs: BlobSettings,
    /// Uploads by clients.
    pub(crate) uploads: Uploads,
    /// Models: large files that are uploaded in pieces, once, for policies that name their digest.
    pub(crate) models: ModelSettings,
    /// Event streams about jobs.
    pub(crate) events: EventSettings,
    /// Browsers: sign-in, and the pages that may send requests.
    pub(crate) browsers: BrowserSettings,
    /// Limits for clients.
    pub(crate) limits: LimitSettings,
    /// Retention periods. Unfinished jobs are never removed, and the records stay.
    pub(crate) retention: Retention,
    /// Webhooks: messages to the addresses that clients give with their jobs.
    pub(crate) webhooks: WebhookSettings,
    /// Workers on other hosts (`assay worker`).
    pub(crate) workers: WorkerSettings,
    /// Leases and pauses: how soon work goes on elsewhere. The defaults suit every installation.
    pub(crate) intervals: IntervalSettings,
    /// A second judge: a vision model that also examines episodes. It can only request a review by a person.
    pub(crate) judge: JudgeSettings,
}

impl Settings {
    /// Checks the rules that the types of the sections can't express.
    pub(crate) fn validate(&self) -> Result<(), InvalidSetting> {
        self.server.validate().map_err(|bad| bad.within("server"))?;
        self.store.validate().map_err(|bad| bad.within("store"))?;
        self.blobs.validate().map_err(|bad| bad.within("blobs"))?;
        self.uploads.validate().map_err(|bad| bad.within("uploads"))?;
        self.models.validate().map_err(|bad| bad.within("models"))?;
        self.events.validate().map_err(|bad| bad.within("events"))?;
        self.browsers.validate().map_err(|bad| bad.within("browsers"))?;
        self.limits.validate().map_err(|bad| bad.within("limits"))?;
        self.retention.validate().map_err(|bad| bad.within("retention"))?;
        self.webhooks.validate().map_err(|bad| bad.within("webhooks"))?;
        self.workers.validate().map_err(|bad| bad.within("workers"))?;
        self.intervals.validate().map_err(|bad| bad.within("intervals"))?;
        self.judge.validate().map_err(|bad| bad.within("judge"))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
