//! `[limits.rate]`: rate limits of a key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InvalidSetting;

/// The section `[limits.rate]`: requests of a key in a fixed window of 60 s, by kind.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimits {
    /// `POST /verify`.
    pub verify_per_minute: u32,
    /// `POST /submissions`.
    pub submissions_per_minute: u32,
    /// Every GET with a key; an event stream counts once.
    pub get_per_minute: u32,
    /// Changes of models: announcements, pieces of an upload, removals.
    pub models_per_minute: u32,
    /// All other changes.
    pub write_per_minute: u32,
    /// Sign-ins of browsers with the key. Signing out is not limited: it writes only if there is a session.
    pub sessions_per_minute: u32,
    /// HTML pages (`/ui`, `/docs`) and their resources, for signed-in users.
    pub pages_per_minute: u32,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            verify_per_minute: 10,
            submissions_per_minute: 10,
            get_per_minute: 60,
            models_per_minute: 240,
            write_per_minute: 60,
            sessions_per_minute: 30,
            pages_per_minute: 600,
        }
    }
}

impl RateLimits {
    /// Creates the same limit for all classes.
    #[must_use]
    pub fn all(per_minute: u32) -> Self {
        Self {
            verify_per_minute: per_minute,
            submissions_per_minute: per_minute,
            get_per_minute: per_minute,
            models_per_minute: per_minute,
            write_per_minute: per_minute,
            sessions_per_minute: per_minute,
            pages_per_minute: per_minute,
        }
    }

    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        for (key, value) in [
            ("verify_per_minute", self.verify_per_minute),
            ("submissions_per_minute", self.submissions_per_minute),
            ("get_per_minute", self.get_per_minute),
            ("models_per_minute", self.models_per_minute),
            ("write_per_minute", self.write_per_minute),
            ("sessions_per_minute", self.sessions_per_minute),
            ("pages_per_minute", self.pages_per_minute),
        ] {
            InvalidSetting::unless_in(key, value, &(1..=1_000_000_000))?;
        }
        Ok(())
    }
}
