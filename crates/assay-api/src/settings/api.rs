//! All settings of the API.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use assay_model::{DEFAULT_EVIDENCE_BYTES, Isolation};

use super::{
    AccountLimits, BrowserSettings, DiskLimits, EventSettings, IntervalSettings, JobLimits, MetricsAccess,
    ModelSettings, RateLimits, Retention, Seconds, Uploads, WebhookSettings, WorkerSettings,
};

/// Maximum number of episodes per shard. Larger shards start fewer lanes; a worker that dies loses at most one episode
/// in any case.
const MAX_SHARD_EPISODES: u32 = 16;

/// The settings of the API: sections of the settings file, and values that the program determines itself.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// URL at which clients reach the service, such as `https://assay.example.org`; makes the URLs in responses
    /// absolute.
    pub public_url: Option<String>,
    /// Address that the server listens on, if it is known. Messages to receivers of webhooks contain it if it is
    /// loopback and there is no `public_url`.
    pub listening: Option<SocketAddr>,
    /// Maximum time that a client may take to send the head of a request.
    pub header_s: Seconds,
    /// Maximum number of concurrent connections; further ones wait to be accepted.
    pub max_connections: usize,
    /// Maximum time that a stopping server waits for running requests.
    pub drain_s: Seconds,
    /// Limits on uploads.
    pub uploads: Uploads,
    /// Uploads of models.
    pub models: ModelSettings,
    /// Event streams.
    pub events: EventSettings,
    /// Browser sessions and origins.
    pub browsers: BrowserSettings,
    /// Rate limits of a key.
    pub rate: RateLimits,
    /// Limits of an account.
    pub account: AccountLimits,
    /// Limits of a job.
    pub job: JobLimits,
    /// Limits of the disk.
    pub disk: DiskLimits,
    /// Access to the metrics.
    pub metrics: MetricsAccess,
    /// Retention.
    pub retention: Retention,
    /// Webhooks.
    pub webhooks: WebhookSettings,
    /// Workers on other hosts.
    pub workers: WorkerSettings,
    /// Leases and pauses.
    pub intervals: IntervalSettings,
    /// Maximum size of a job's evidence, in bytes.
    pub max_evidence_bytes: u64,
    /// Number of lanes that a job should keep busy: it is split into about this many shards, as far as it has episodes.
    pub lanes: NonZeroU32,
    /// Number of lanes of this process.
    pub local_lanes: u32,
    /// True if a second judge examines episodes before a verdict.
    pub second_judge: bool,
    /// The isolation of policies; reported by `/readyz`.
    pub isolation: Isolation,
    /// True if uploaded policies are run on this instance; reported by `/readyz`.
    pub runs_uploads: bool,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self {
            public_url: None,
            listening: None,
            header_s: Seconds::new(75),
            max_connections: 16_384,
            drain_s: Seconds::new(5),
            uploads: Uploads::default(),
            models: ModelSettings::default(),
            events: EventSettings::default(),
            browsers: BrowserSettings::default(),
            rate: RateLimits::default(),
            account: AccountLimits::default(),
            job: JobLimits::default(),
            disk: DiskLimits::default(),
            metrics: MetricsAccess::default(),
            retention: Retention::default(),
            webhooks: WebhookSettings::default(),
            workers: WorkerSettings::default(),
            intervals: IntervalSettings::default(),
            max_evidence_bytes: DEFAULT_EVIDENCE_BYTES,
            lanes: NonZeroU32::MIN,
            local_lanes: 1,
            second_judge: false,
            isolation: Isolation::Namespaces,
            runs_uploads: true,
        }
    }
}

impl ApiSettings {
    /// Returns the URL of `path` (which starts with `/`): absolute if there is a public URL.
    #[must_use]
    pub(crate) fn address(&self, path: &str) -> String {
        match &self.public_url {
            Some(base) => format!("{}{path}", base.trim_end_matches('/')),
            None => path.to_owned(),
        }
    }

    /// Returns the URL of `path` in a message to a receiver, which may be on this machine if there is no public URL.
    #[must_use]
    pub(crate) fn message_address(&self, path: &str) -> String {
        match self.listening.filter(|listening| self.public_url.is_none() && listening.ip().is_loopback()) {
            Some(listening) => format!("http://{listening}{path}"),
            None => self.address(path),
        }
    }

    /// Returns the path below which the service is reached, without a final slash; empty unless a proxy adds one.
    #[must_use]
    pub(crate) fn base_path(&self) -> &str {
        let url = self.public_url.as_deref().and_then(|url| url.split_once("://"));
        let path = url.and_then(|(_, rest)| rest.find('/').and_then(|start| rest.get(start..)));
        path.unwrap_or_default().trim_end_matches('/')
    }

    /// Returns the number of episodes per shard for a job of `episodes`, with `more_lanes` of workers on other hosts.
    #[must_use]
    pub fn shard_episodes(&self, episodes: u32, more_lanes: u32) -> NonZeroU32 {
        // Without lanes of its own, a server assumes some only as long as no worker has any.
        let own = if more_lanes > 0 { self.local_lanes } else { self.lanes.get() };
        let fair = episodes.div_ceil(own.saturating_add(more_lanes).max(1)).clamp(1, MAX_SHARD_EPISODES);
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
            assert_eq!(settings.shard_episodes(episodes, 0).get(), shard, "{episodes}");
        }
    }

    #[test]
    fn address_prepends_the_public_url() {
        let mut settings = ApiSettings::default();
        assert_eq!((&*settings.address("/verify"), settings.base_path()), ("/verify", ""));
        for (listening, expected) in [("127.0.0.1:8080", "http://127.0.0.1:8080/verify"), ("0.0.0.0:8080", "/verify")] {
            settings.listening = Some(listening.parse().unwrap());
            assert_eq!(settings.message_address("/verify"), expected);
        }
        settings.public_url = Some("https://x.org/assay/".into());
        assert_eq!(settings.address("/verify"), "https://x.org/assay/verify");
        assert_eq!(settings.message_address("/verify"), "https://x.org/assay/verify");
        assert_eq!(settings.base_path(), "/assay");
        for without in ["https://x.org", "https://x.org/"] {
            settings.public_url = Some(without.into());
            assert_eq!(settings.base_path(), "", "{without}");
        }
    }
}
