//! `[uploads]`: limits on uploads.

use assay_model::{MAX_ARCHIVE_BYTES, MAX_SCENARIO_ARCHIVE_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// The section `[uploads]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Uploads {
    /// Largest policy archive in bytes (100 MiB).
    pub max_bytes: u64,
    /// Largest archive of a scenario in bytes (32 MiB, which is also the maximum).
    pub max_scenario_bytes: u64,
    /// Longest pause in seconds before the next piece of a body.
    pub idle_s: Seconds,
    /// Longest time in seconds for a whole body, even if it is sent steadily.
    pub total_s: Seconds,
    /// Minimum average rate of a body in bytes per second, once `idle_s` is over (408). A body that announces its
    /// length must also be fast enough to arrive within `total_s`. 0: no minimum rate.
    pub min_bytes_per_s: u64,
}

impl Default for Uploads {
    fn default() -> Self {
        Self {
            max_bytes: MAX_ARCHIVE_BYTES,
            max_scenario_bytes: MAX_SCENARIO_ARCHIVE_BYTES,
            idle_s: Seconds::new(30),
            total_s: Seconds::new(900),
            min_bytes_per_s: 4096,
        }
    }
}

impl Uploads {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless_in("max_bytes", self.max_bytes, &(1..=1 << 40))?;
        InvalidSetting::unless_in("max_scenario_bytes", self.max_scenario_bytes, &(1..=MAX_SCENARIO_ARCHIVE_BYTES))?;
        let day = Seconds::new(86_400);
        let least = Seconds::from(std::time::Duration::from_millis(10));
        InvalidSetting::unless_in("idle_s", self.idle_s, &(least..=day))?;
        InvalidSetting::unless_in("total_s", self.total_s, &(least..=day))?;
        InvalidSetting::unless_in("min_bytes_per_s", self.min_bytes_per_s, &(0..=1 << 40))
    }
}
