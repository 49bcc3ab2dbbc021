//! `[events]`: the event streams of jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// The section `[events]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventSettings {
    /// Interval between heartbeats on an idle stream, in seconds.
    pub heartbeat_s: Seconds,
    /// Maximum number of open streams of all accounts together.
    pub max_streams: usize,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self { heartbeat_s: Seconds::new(15), max_streams: 8192 }
    }
}

impl EventSettings {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        let least = Seconds::from(std::time::Duration::from_millis(10));
        InvalidSetting::unless_in("heartbeat_s", self.heartbeat_s, &(least..=Seconds::new(3600)))?;
        InvalidSetting::unless_in("max_streams", self.max_streams, &(1..=1_000_000))
    }
}
