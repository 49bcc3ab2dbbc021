//! `[workers]`: workers on other hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InvalidSetting;

/// Maximum of [`WorkerSettings::restep_one_in`].
const MAX_ONE_IN: u32 = 1_000_000;

/// The section `[workers]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkerSettings {
    /// Of one episode in so many that a worker on another host reports, drawn at random, the physics run again on this
    /// server under the recorded actions. 1 for every episode, 0 for none.
    pub restep_one_in: u32,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self { restep_one_in: 50 }
    }
}

impl WorkerSettings {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless_in("restep_one_in", self.restep_one_in, &(0..=MAX_ONE_IN))
    }
}
