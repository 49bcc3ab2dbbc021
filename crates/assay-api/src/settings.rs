//! What an operator may change.

use std::num::NonZeroU32;
use std::time::Duration;

use assay_model::Isolation;

/// Episodes of one shard at most: what is lost at most when a worker dies is one episode, but a lane starts per shard.
const MAX_SHARD_EPISODES: u32 = 16;

/// The section `[api]`.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// Where clients reach the service, such as `https://assay.example.org`; makes addresses in answers absolute.
    pub public_url: Option<String>,
    /// Largest policy archive, in bytes.
    pub max_upload_bytes: u64,
    /// Most episodes of one verification.
    pub max_episodes: u32,
    /// Lanes that a job should keep busy: it is cut into at least this many shards.
    pub lanes: NonZeroU32,
    /// How long a client may take to send the next piece of a body.
    pub body_idle: Duration,
    /// How long a stopping server waits for requests that are under way.
    pub drain: Duration,
    /// A stream of events that has nothing to say says so this often.
    pub heartbeat: Duration,
    /// Streams of events that an account may have open.
    pub max_streams_of_account: usize,
    /// Streams of events that all may have open together.
    pub max_streams: usize,
    /// How policies are kept apart here; `/readyz` tells.
    pub isolation: Isolation,
    /// Whether uploaded policies are run here; `/readyz` tells.
    pub runs_uploads: bool,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self {
            public_url: None,
            max_upload_bytes: 100 << 20,
            max_episodes: 1000,
            lanes: NonZeroU32::MIN,
            body_idle: Duration::from_secs(30),
            drain: Duration::from_secs(5),
            heartbeat: Duration::from_secs(15),
            max_streams_of_account: 100,
            max_streams: 8192,
            isolation: Isolation::Namespaces,
            runs_uploads: true,
        }
    }
}

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Not an address.
    #[error("public_url {0:?} must start with http:// or https:// and have no query")]
    PublicUrl(String),
    /// A limit of nothing.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
}

impl ApiSettings {
    /// Checks what the types can't.
    ///
    /// # Errors
    /// [`SettingsError`] names the first setting that can't be.
    pub fn validate(&self) -> Result<(), SettingsError> {
        if let Some(url) = &self.public_url {
            let scheme = url.starts_with("http://") || url.starts_with("https://");
            if !scheme || url.contains(['?', '#', ' ']) {
                return Err(SettingsError::PublicUrl(url.clone()));
            }
        }
        if self.max_upload_bytes == 0 {
            return Err(SettingsError::Zero("max_upload_bytes"));
        }
        if self.max_episodes == 0 {
            return Err(SettingsError::Zero("max_episodes"));
        }
        if self.heartbeat.is_zero() {
            return Err(SettingsError::Zero("heartbeat"));
        }
        Ok(())
    }

    /// The address of `path` (which starts with `/`) as clients see it.
    #[must_use]
    pub fn address(&self, path: &str) -> String {
        match &self.public_url {
            Some(base) => format!("{}{path}", base.trim_end_matches('/')),
            None => path.to_owned(),
        }
    }

    /// Episodes of a shard, for a job of `episodes`.
    #[must_use]
    pub fn shard_episodes(&self, episodes: u32) -> NonZeroU32 {
        let fair = episodes.div_ceil(self.lanes.get()).clamp(1, MAX_SHARD_EPISODES);
        NonZeroU32::new(fair).unwrap_or(NonZeroU32::MIN)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn shards_keep_all_lanes_busy() {
        let settings = ApiSettings { lanes: NonZeroU32::new(2).unwrap(), ..ApiSettings::default() };
        for (episodes, shard) in [(1, 1), (2, 1), (3, 2), (10, 5), (1000, 16)] {
            assert_eq!(settings.shard_episodes(episodes).get(), shard, "{episodes}");
        }
    }

    #[test]
    fn addresses() {
        let mut settings = ApiSettings::default();
        assert_eq!(settings.address("/verify"), "/verify");
        settings.public_url = Some("https://x.org/assay/".into());
        assert_eq!(settings.address("/verify"), "https://x.org/assay/verify");
        assert_eq!(settings.validate(), Ok(()));
        settings.public_url = Some("x.org".into());
        assert_eq!(settings.validate(), Err(SettingsError::PublicUrl("x.org".into())));
    }
}
