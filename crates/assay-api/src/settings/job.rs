//! `[limits.job]`: limits on a single job.

use assay_model::{WALL_BUDGET_PER_SIMULATED_S, WALL_BUDGET_S};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// The section `[limits.job]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobLimits {
    /// Maximum number of episodes of one verification.
    pub max_episodes: u32,
    /// CPU seconds that the policy of one verification or submission may use in the worst case: the kernel's limit per
    /// episode of its scenario, times the episodes.
    pub cpu_s: u64,
    /// Seconds that a policy may sleep in any episode while the simulator waits for its actions. Beyond this and
    /// `wall_budget_per_simulated_s`, the episode ends as `policy_timeout`, code `wall_budget`.
    pub wall_budget_s: Seconds,
    /// Additional seconds that a policy may sleep, for each simulated second of the scenario's time limit.
    pub wall_budget_per_simulated_s: u32,
}

impl Default for JobLimits {
    fn default() -> Self {
        Self {
            max_episodes: 1000,
            cpu_s: 10_000_000,
            wall_budget_s: Seconds::new(WALL_BUDGET_S.into()),
            wall_budget_per_simulated_s: WALL_BUDGET_PER_SIMULATED_S,
        }
    }
}

impl JobLimits {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless_in("max_episodes", self.max_episodes, &(1..=1_000_000))?;
        InvalidSetting::unless_in("cpu_s", self.cpu_s, &(1..=1 << 50))?;
        InvalidSetting::unless_in("wall_budget_s", self.wall_budget_s, &(Seconds::new(1)..=Seconds::new(86_400)))?;
        InvalidSetting::unless_in("wall_budget_per_simulated_s", self.wall_budget_per_simulated_s, &(0..=10_000))
    }
}
