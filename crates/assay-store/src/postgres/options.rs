//! The address of a PostgreSQL server, and how to connect to it.

use std::fmt;
use std::time::Duration;

use assay_model::Secret;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use url::Url;

use super::open_error::PostgresOpenError;

/// Maximum time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle time after which the system checks that the server is still there, and the interval of further checks.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Number of checks without an answer after which a connection is lost.
const KEEPALIVE_RETRIES: u32 = 3;
/// Time after which sent data without an acknowledgement means that a connection is lost.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);
/// Name of the connections in `pg_stat_activity`.
const APPLICATION_NAME: &str = "assay";

/// The address of a PostgreSQL server and the password for it.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user@host:port/database`. Parameters after `?` are those of libpq that the driver knows; `sslmode`
    /// also takes `verify-ca` and `verify-full`, and `sslrootcert` names a file of root certificates. Certificates are
    /// always verified, as with `verify-full`.
    pub url: Secret,
    /// Used if the address contains no password.
    pub password: Option<Secret>,
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions").field("server", &self.server()).finish_non_exhaustive()
    }
}

impl PostgresOptions {
    /// Creates options from an address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: Secret::new(url), password: None }
    }

    /// Returns true if this is the address of a PostgreSQL server.
    #[must_use]
    pub fn is_postgres(url: &str) -> bool {
        url.starts_with("postgres://") || url.starts_with("postgresql://")
    }

    /// Returns the address without password and parameters, for messages.
    #[must_use]
    pub fn server(&self) -> String {
        let Ok(mut url) = Url::parse(self.url.reveal()) else { return "an invalid address".to_owned() };
        // Fails for an address that cannot have a password, and then has none.
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        url.to_string()
    }

    /// Returns the driver's configuration and the demands on TLS.
    pub(super) fn parse(&self) -> Result<(Config, TlsOptions), PostgresOpenError> {
        let invalid = |problem: String| PostgresOpenError::InvalidUrl { problem };
        let text = self.url.reveal();
        if !Self::is_postgres(text) {
            return Err(invalid("it does not begin with postgres://".into()));
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut tls = TlsOptions::default();
        let mut kept = url::form_urlencoded::Serializer::new(String::new());
        let mut mode = None;
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match (name.as_ref(), value.as_ref()) {
                ("sslrootcert", file) => tls.root_certificates = Some(file.into()),
                ("sslmode", "verify-ca" | "verify-full" | "require") => mode = Some(SslMode::Require),
                ("sslmode", "prefer" | "allow") => mode = Some(SslMode::Prefer),
                ("sslmode", "disable") => mode = Some(SslMode::Disable),
                ("sslmode", other) => return Err(invalid(format!("sslmode cannot be {other:?}"))),
                (name, value) => {
                    kept.append_pair(name, value);
                }
            }
        }
        // The driver's own reader of addresses does not take `+` for a space.
        let kept = kept.finish().replace('+', "%20");
        let address = if kept.is_empty() { base.to_owned() } else { format!("{base}?{kept}") };
        let mut config: Config = address.parse().map_err(|error: tokio_postgres::Error| {
            invalid(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(invalid("it names no host".into()));
        }
        if config.get_dbname().is_none() {
            return Err(invalid("it names no database".into()));
        }
        if let (None, Some(password)) = (config.get_password(), &self.password) {
            config.password(password.reveal());
        }
        let default = if is_local(&config) { SslMode::Disable } else { SslMode::Prefer };
        config.ssl_mode(mode.unwrap_or(default));
        config
            .application_name(APPLICATION_NAME)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(SEND_TIMEOUT)
            .keepalives(true)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE)
            .keepalives_retries(KEEPALIVE_RETRIES);
        Ok((config, tls))
    }
}

/// Returns true if the server is on this machine, where its certificate is usually not a trusted one.
fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    })
}

/// Demands on TLS beyond the driver's own.
#[derive(Debug, Default)]
pub(super) struct TlsOptions {
    /// A file of root certificates to trust instead of the system's.
    pub(super) root_certificates: Option<std::path::PathBuf>,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_password_in_the_address_comes_before_that_of_a_file() {
        let given = Secret::new("of a file");
        let options = |url: &str| PostgresOptions { url: Secret::new(url), password: Some(given.clone()) };
        let password = |url: &str| options(url).parse().unwrap().0.get_password().map(<[u8]>::to_vec);
        assert_eq!(password("postgres://lab:in%20it@db/assay").as_deref(), Some(&b"in it"[..]));
        assert_eq!(password("postgres://lab@db/assay").as_deref(), Some(&b"of a file"[..]));
    }

    #[test]
    fn nothing_shows_a_password() {
        let options = PostgresOptions::new("postgres://lab:hunter2@db.example:5433/assay?password=hunter2");
        assert_eq!(options.server(), "postgres://lab@db.example:5433/assay");
        assert!(!format!("{options:?}").contains("hunter2"), "{options:?}");
    }

    #[test]
    fn the_demands_on_tls_are_those_of_libpq() {
        let parse = |query: &str| PostgresOptions::new(format!("postgres://lab@db/assay{query}")).parse();
        for (query, mode) in [
            ("", SslMode::Prefer),
            ("?sslmode=disable", SslMode::Disable),
            ("?sslmode=require", SslMode::Require),
            ("?sslmode=verify-full&connect_timeout=3", SslMode::Require),
        ] {
            assert_eq!(parse(query).unwrap().0.get_ssl_mode(), mode, "{query}");
        }
        let local = PostgresOptions::new("postgres://lab@localhost/assay").parse().unwrap().0;
        assert_eq!(local.get_ssl_mode(), SslMode::Disable, "the certificate of a new server is its own");
        let (_, tls) = parse("?sslrootcert=/etc/ssl/own%20ca.pem").unwrap();
        assert_eq!(tls.root_certificates.unwrap(), std::path::Path::new("/etc/ssl/own ca.pem"));
    }

    #[test]
    fn an_invalid_address_is_refused_by_the_name_of_its_setting() {
        for url in [
            "mysql://db/assay",
            "postgres://",
            "postgres://db",
            "postgres://db/assay?sslmode=perhaps",
            "postgres://db/assay?nonsense=1",
            "postgres://db:port/assay",
        ] {
            let error = PostgresOptions::new(url).parse().unwrap_err().to_string();
            assert!(error.contains("store.url"), "{url}: {error}");
        }
    }
}
