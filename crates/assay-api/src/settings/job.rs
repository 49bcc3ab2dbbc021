//! `[limits.job]`: how large one job may be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BadSetting;

/// The section `[limits.job]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobLimits {
    /// Most episodes of one verification.
    pub max_episodes: u32,
    /// CPU seconds that the policy of one verification or submission may use in the worst case: those that the kernel
    /// grants it in an episode of its scenario, times the episodes.
    pub cpu_s: u64,
}

impl Default for JobLimits {
    fn default() -> Self {
        Self { max_episodes: 1000, cpu_s: 10_000_000 }
    }
}

impl JobLimits {
    /// Checks what the types can't.
    ///
    /// # Errors
    /// [`BadSetting`] names the first that can't be.
    pub fn validate(&self) -> Result<(), BadSetting> {
        BadSetting::unless_in("max_episodes", self.max_episodes, &(1..=1_000_000))?;
        BadSetting::unless_in("cpu_s", self.cpu_s, &(1..=1 << 50))
    }
}
