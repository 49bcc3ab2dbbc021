//! `[server]`: the process itself.

use std::net::SocketAddr;
use std::path::PathBuf;

use assay_api::{ApiSettings, InvalidSetting, MetricsAccess, Seconds};
use assay_model::Isolation;
use assay_worker::VideoFormat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::isolation::{WeakerIsolation, accepted_isolation};
use super::log::{LogFormat, LogLevel};
use super::types::Network;

/// Maximum number of lanes.
pub(crate) const MAX_LANES: u16 = 256;
/// Maximum value of the limit on a job's evidence, in MiB: 1 TiB.
pub(crate) const MAX_EVIDENCE_MIB: u64 = 1 << 20;

/// Address of the metrics' own listener if the settings name none.
pub(crate) const DEFAULT_METRICS_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9464);

/// The section `[server]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerSettings {
    /// Address to listen on.
    #[schemars(with = "String")]
    pub(crate) listen: SocketAddr,
    /// Folder for the database, policies and evidence; required.
    #[schemars(example = "/var/lib/assay")]
    pub(crate) data: Option<PathBuf>,
    /// URL at which clients reach the service; if set, URLs in responses are absolute.
    #[schemars(example = "https://assay.example.org")]
    pub(crate) public_url: Option<String>,
    /// Number of simulators that run at the same time, 0 to 256; one per processor if not set. With 0, all episodes run
    /// on workers on other hosts.
    #[schemars(example = 4)]
    pub(crate) lanes: Option<u16>,
    /// Networks that clients' policy servers may be in, besides the public Internet, such as "10.0.0.0/8".
    #[schemars(with = "Vec<String>")]
    pub(crate) policy_networks: Vec<Network>,
    /// Networks that clients' webhooks (`callback_url`) may be in, besides the public Internet.
    #[schemars(with = "Vec<String>")]
    pub(crate) webhook_networks: Vec<Network>,
    /// Maximum size of a job's evidence, in MiB. Each episode has an equal share, and omits images beyond it.
    pub(crate) max_evidence_mib: u64,
    /// Width, height and frames per simulated second of videos; rendering takes time in proportion.
    #[schemars(with = "String")]
    pub(crate) video: VideoFormat,
    /// Address of the metrics' own listener, which asks for no key. 127.0.0.1:9464 if not set, where a server does
    /// without it if another program has the port.
    #[schemars(with = "Option<String>", example = "127.0.0.1:9464")]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Access to /metrics on the address of the API: with an admin key (admin), also without one from the same machine
    /// (loopback, the rule of earlier releases, which will go), or for everybody (any); off: neither there nor on the
    /// listener of its own.
    pub(crate) metrics: MetricsAccess,
    /// Format of the log on standard error.
    pub(crate) log_format: LogFormat,
    /// Log level: error, warn, info, debug or trace; -v and ASSAY_LOG take precedence.
    pub(crate) log_level: LogLevel,
    /// Time limit for the head of a request, including the next one on a connection that is kept open. Set it higher
    /// than the idle timeout of a proxy in front of the server.
    pub(crate) header_s: Seconds,
    /// Maximum number of concurrent connections; others wait to be accepted.
    pub(crate) max_connections: usize,
    /// Time limit for requests in progress when the server stops.
    pub(crate) drain_s: Seconds,
    /// Run policies with Landlock if namespaces don't work.
    pub(crate) accept_weaker_isolation: Option<WeakerIsolation>,
    /// Run policies even if neither namespaces nor Landlock work. Only for your own policies.
    pub(crate) run_untrusted_code_without_isolation: bool,
}

impl Default for ServerSettings {
    fn default() -> Self {
        let api = ApiSettings::default();
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            data: None,
            public_url: None,
            lanes: None,
            policy_networks: Vec::new(),
            webhook_networks: Vec::new(),
            max_evidence_mib: assay_model::DEFAULT_EVIDENCE_BYTES >> 20,
            video: VideoFormat::default(),
            metrics_listen: None,
            metrics: api.metrics,
            log_format: LogFormat::default(),
            log_level: LogLevel::default(),
            header_s: api.header_s,
            max_connections: api.max_connections,
            drain_s: api.drain_s,
            accept_weaker_isolation: None,
            run_untrusted_code_without_isolation: false,
        }
    }
}

impl ServerSettings {
    pub(crate) fn validate(&self) -> Result<(), InvalidSetting> {
        if let Some(url) = &self.public_url {
            let scheme = url.starts_with("http://") || url.starts_with("https://");
            if !scheme || url.contains(['?', '#', ' ']) {
                let allowed = "an address that starts with http:// or https://, without a query";
                return Err(InvalidSetting::new("public_url", url, allowed));
            }
            let authority = url.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());
            if authority.contains('@') {
                // Not repeated: it may be a password.
                let allowed = "an address without user name and password, since it stands in every response";
                return Err(InvalidSetting::new("public_url", "(with credentials)", allowed));
            }
        }
        if let Some(lanes) = self.lanes {
            InvalidSetting::unless_in("lanes", lanes, &(0..=MAX_LANES))?;
        }
        InvalidSetting::unless_in("max_evidence_mib", self.max_evidence_mib, &(1..=MAX_EVIDENCE_MIB))?;
        InvalidSetting::unless_in("header_s", self.header_s, &(Seconds::new(1)..=Seconds::new(3600)))?;
        InvalidSetting::unless_in("max_connections", self.max_connections, &(1..=1_000_000))?;
        InvalidSetting::unless_in("drain_s", self.drain_s, &(Seconds::new(0)..=Seconds::new(3600)))
    }

    /// Returns the data folder.
    pub(crate) fn data(&self) -> Result<&PathBuf, InvalidSetting> {
        let allowed = "the folder for database, policies and evidence: --data DIR, ASSAY_DATA, or data in [server]";
        self.data.as_ref().ok_or_else(|| InvalidSetting::new("server.data", "(not set)", allowed))
    }

    /// Returns the weakest tier in which policies may run.
    pub(crate) fn accepted_isolation(&self) -> Isolation {
        accepted_isolation(self.accept_weaker_isolation, self.run_untrusted_code_without_isolation)
    }
}
