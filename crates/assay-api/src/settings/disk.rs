//! `[limits.disk]`: free and reserved disk space.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InvalidSetting;

/// The section `[limits.disk]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiskLimits {
    /// Free space, in MiB, that the disk of the data folder must have. With less, uploads are rejected (503) until
    /// space is freed, and `/readyz` reports it.
    pub min_free_mib: u64,
    /// Space, in MiB, that the records reserve on the disk at start, so that results, cancellations and removals can
    /// still be recorded on a full disk; 0 for none, at most 64.
    pub records_reserve_mib: u64,
}

impl Default for DiskLimits {
    fn default() -> Self {
        Self { min_free_mib: 1024, records_reserve_mib: 32 }
    }
}

impl DiskLimits {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless_in("min_free_mib", self.min_free_mib, &(0..=1 << 40))?;
        InvalidSetting::unless_in("records_reserve_mib", self.records_reserve_mib, &(0..=64))
    }
}
