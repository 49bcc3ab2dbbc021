//! `[limits.account]`: limits on an account, at a time and per day.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InvalidSetting;

/// The section `[limits.account]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccountLimits {
    /// Jobs accepted in a day (UTC). A job that fails because of an internal error does not count.
    pub jobs_per_day: u32,
    /// Submissions to one scenario in a day (UTC). Those that fail because of an internal error do not count.
    pub submissions_per_day: u32,
    /// Versions of scenarios published within 24 hours.
    pub publications_per_day: u32,
    /// Scenarios that were checked and rejected within 24 hours.
    pub failed_publications_per_day: u32,
    /// Jobs that have not ended.
    pub active_jobs: u32,
    /// Simulated seconds of all jobs that have not ended, as if no episode ended early.
    pub queued_sim_s: u64,
    /// Event streams open at the same time.
    pub streams: usize,
    /// Uploads in progress at the same time, until the response.
    pub uploads: u64,
    /// Total announced size of several uploads in progress, in MiB; at most half of the disk space available for
    /// uploads.
    pub uploading_mib: u64,
    /// Policies and evidence stored on the disk, in MiB.
    pub disk_mib: u64,
    /// Models, unfinished uploads included.
    pub models: u64,
    /// Total size of the models, unfinished uploads included, in MiB.
    pub models_mib: u64,
}

impl Default for AccountLimits {
    fn default() -> Self {
        Self {
            jobs_per_day: 1000,
            submissions_per_day: 5,
            publications_per_day: 20,
            failed_publications_per_day: 100,
            active_jobs: 100,
            queued_sim_s: 1_000_000,
            streams: 100,
            uploads: 8,
            uploading_mib: 1024,
            disk_mib: 51_200,
            models: 100,
            models_mib: 32_768,
        }
    }
}

impl AccountLimits {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless_in("jobs_per_day", self.jobs_per_day, &(1..=1_000_000_000))?;
        InvalidSetting::unless_in("submissions_per_day", self.submissions_per_day, &(1..=1_000_000))?;
        InvalidSetting::unless_in("publications_per_day", self.publications_per_day, &(0..=1_000_000_000))?;
        let failed = self.failed_publications_per_day;
        InvalidSetting::unless_in("failed_publications_per_day", failed, &(1..=1_000_000_000))?;
        InvalidSetting::unless_in("active_jobs", self.active_jobs, &(1..=1_000_000_000))?;
        InvalidSetting::unless_in("streams", self.streams, &(1..=1_000_000))?;
        InvalidSetting::unless_in("uploads", self.uploads, &(1..=1_000_000))?;
        InvalidSetting::unless_in("uploading_mib", self.uploading_mib, &(1..=1 << 40))?;
        InvalidSetting::unless_in("queued_sim_s", self.queued_sim_s, &(1..=1 << 50))?;
        InvalidSetting::unless_in("disk_mib", self.disk_mib, &(1..=1 << 40))?;
        InvalidSetting::unless_in("models", self.models, &(0..=1_000_000))?;
        InvalidSetting::unless_in("models_mib", self.models_mib, &(0..=1 << 40))
    }
}
