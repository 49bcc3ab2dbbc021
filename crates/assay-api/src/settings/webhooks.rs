//! `[webhooks]`: deliveries to the addresses that clients give with their jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// The section `[webhooks]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookSettings {
    /// Longest time in seconds that an address may take to respond.
    pub answer_s: Seconds,
    /// Period in seconds in which a delivery is retried, with growing pauses, after its first attempt failed.
    pub retry_for_s: Seconds,
    /// Period in seconds in which messages also carry the signature of the previous secret after an account has
    /// rotated it.
    pub overlap_s: Seconds,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        const DAY_S: u64 = 24 * 60 * 60;
        Self { answer_s: Seconds::new(10), retry_for_s: Seconds::new(DAY_S), overlap_s: Seconds::new(DAY_S) }
    }
}

impl WebhookSettings {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        const MONTH_S: u64 = 31 * 24 * 60 * 60;
        InvalidSetting::unless_in("answer_s", self.answer_s, &(Seconds::new(1)..=Seconds::new(30)))?;
        InvalidSetting::unless_in("retry_for_s", self.retry_for_s, &(Seconds::new(0)..=Seconds::new(MONTH_S)))?;
        InvalidSetting::unless_in("overlap_s", self.overlap_s, &(Seconds::new(0)..=Seconds::new(MONTH_S)))
    }
}
