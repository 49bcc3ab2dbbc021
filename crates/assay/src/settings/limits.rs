//! `[limits.*]`: limits for clients.

use assay_api::{AccountLimits, DiskLimits, InvalidSetting, JobLimits, RateLimits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sections `[limits.*]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitSettings {
    /// Maximum number of requests per key in a fixed window of 60 s.
    pub(crate) rate: RateLimits,
    /// Limits of an account, at a time and per day.
    pub(crate) account: AccountLimits,
    /// Limits of a single job.
    pub(crate) job: JobLimits,
    /// Thresholds at which the disk counts as full.
    pub(crate) disk: DiskLimits,
}

impl LimitSettings {
    pub(crate) fn validate(&self) -> Result<(), InvalidSetting> {
        self.rate.validate().map_err(|bad| bad.within("rate"))?;
        self.account.validate().map_err(|bad| bad.within("account"))?;
        self.job.validate().map_err(|bad| bad.within("job"))?;
        self.disk.validate().map_err(|bad| bad.within("disk"))
    }
}
