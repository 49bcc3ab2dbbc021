//! `[webhooks]`: messages to the addresses that clients give with their jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// The section `[webhooks]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookSettings {
    /// How long an address may take to answer.
    pub answer_s: Seconds,
    /// How long a message is tried again, with growing pauses, after its first attempt failed.
    pub retry_for_s: Seconds,
    /// How long messages carry the signature of the previous secret too, after an account has rotated it.
    pub overlap_s: Seconds,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        const DAY_S: u64 = 24 * 60 * 60;
        Self { answer_s: Seconds::new(10), retry_for_s: Seconds::new(DAY_S), overlap_s: Seconds::new(DAY_S) }
    }
}

impl WebhookSettings {
    /// Checks what the types can't.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first that can't be.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        const MONTH_S: u64 = 31 * 24 * 60 * 60;
        InvalidSetting::unless_in("answer_s", self.answer_s, &(Seconds::new(1)..=Seconds::new(30)))?;
        InvalidSetting::unless_in("retry_for_s", self.retry_for_s, &(Seconds::new(0)..=Seconds::new(MONTH_S)))?;
        InvalidSetting::unless_in("overlap_s", self.overlap_s, &(Seconds::new(0)..=Seconds::new(MONTH_S)))
    }
}
