//! `[models]`: uploads of models.

use assay_model::MAX_MODEL_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// The section `[models]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// Largest model in bytes (4 GiB).
    pub max_bytes: u64,
    /// Smallest piece of an upload in bytes, except for the last one (8 MiB).
    pub min_chunk_bytes: u64,
    /// Time in seconds after which an unfinished upload of which nothing more was received is removed.
    pub unfinished_s: Seconds,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self { max_bytes: MAX_MODEL_BYTES, min_chunk_bytes: 8 << 20, unfinished_s: Seconds::new(86_400) }
    }
}

impl ModelSettings {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless_in("max_bytes", self.max_bytes, &(1..=1 << 44))?;
        InvalidSetting::unless_in("min_chunk_bytes", self.min_chunk_bytes, &(1..=1 << 30))?;
        let most = Seconds::new(90 * 86_400);
        InvalidSetting::unless_in("unfinished_s", self.unfinished_s, &(Seconds::new(1)..=most))
    }
}
