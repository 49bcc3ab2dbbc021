//! Address of a policy server, as a client specifies it.

use std::fmt;

use url::{Host, Url};

use super::protocol::{Protocol, URL_SCHEMES, UrlScheme, scheme_list};

/// Maximum length of an address, in bytes.
const MAX_BYTES: usize = 2048;

/// A policy server's address. Prints without its query, which may hold a token.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerEndpoint {
    scheme: &'static UrlScheme,
    host: Host<String>,
    port: u16,
    path: String,
    query: Option<String>,
}

/// An invalid address of a policy server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The address is too long.
    #[error("has more than {MAX_BYTES} bytes")]
    TooLong,
    /// The address is not a URL.
    #[error("is not a URL ({0}); use the form ws://policy.example:8000 or http://policy.example:8000")]
    Url(url::ParseError),
    /// The scheme selects no protocol.
    #[error("must begin with {}", scheme_list())]
    Scheme,
    /// The address has no host.
    #[error("has no host")]
    Host,
}

impl ServerEndpoint {
    /// Parses an address. User name, password and fragment are dropped: no secret is ever sent that way.
    ///
    /// # Errors
    /// [`EndpointError`] describes the problem.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        if text.len() > MAX_BYTES {
            return Err(EndpointError::TooLong);
        }
        let url = Url::parse(text).map_err(EndpointError::Url)?;
        let scheme = URL_SCHEMES.iter().find(|scheme| scheme.name == url.scheme()).ok_or(EndpointError::Scheme)?;
        let host = host_of(&url).ok_or(EndpointError::Host)?;
        let port = url.port().unwrap_or(scheme.default_port);
        let path = if url.path().is_empty() { "/" } else { url.path() };
        Ok(Self { scheme, host, port, path: path.to_owned(), query: url.query().map(str::to_owned) })
    }

    /// Returns true if `text` begins like the address of a policy server, and thus is not a path.
    #[must_use]
    pub fn has_scheme(text: &str) -> bool {
        let name = text.split_once("://").map(|(name, _)| name);
        name.is_some_and(|name| URL_SCHEMES.iter().any(|scheme| name.eq_ignore_ascii_case(scheme.name)))
    }

    /// Returns the protocol that the address selects.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.scheme.protocol
    }

    /// Returns true if the connection is encrypted.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.scheme.is_tls
    }

    /// Returns the host's name or literal address.
    #[must_use]
    pub fn host(&self) -> &Host<String> {
        &self.host
    }

    /// Returns the port: the scheme's default if none was given.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns `host:port` for the Host header.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Returns the path, `/` if none was given.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the query, without its question mark.
    pub(crate) fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// Returns the address with its query, which may be a secret: for storage and requests, never for display.
    #[must_use]
    pub fn in_full(&self) -> String {
        self.query.as_ref().map_or_else(|| self.to_string(), |query| format!("{self}?{query}"))
    }
}

/// Returns the host of `url`. The URL parser leaves the hosts of schemes that it does not know as they are written;
/// they are parsed here, so that the address guard recognises every form of a literal address under any scheme.
fn host_of(url: &Url) -> Option<Host<String>> {
    match url.host()?.to_owned() {
        Host::Domain(name) if !url.is_special() => Host::parse(&name).ok(),
        host => Some(host),
    }
}

impl fmt::Display for ServerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}{}", self.scheme.name, self.host, self.port, self.path)
    }
}

impl fmt::Debug for ServerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerEndpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use url::{Host, Url};

    use super::{ServerEndpoint, host_of};

    #[test]
    fn literal_addresses_are_recognised_under_any_scheme() {
        for text in ["http://127.1:5555", "other+http://127.1:5555", "other+http://2130706433/", "other://0x7f.1"] {
            assert_eq!(host_of(&Url::parse(text).unwrap()), Some(Host::Ipv4([127, 0, 0, 1].into())), "{text}");
        }
        assert_eq!(host_of(&Url::parse("other:///path").unwrap()), None);
    }

    #[test]
    fn an_address_without_a_port_has_the_default_port_of_its_scheme() {
        for (text, port) in
            [("ws://a", 80), ("wss://a", 443), ("http://a", 80), ("https://a", 443), ("https://a:80", 80)]
        {
            assert_eq!(ServerEndpoint::parse(text).unwrap().port(), port, "{text}");
        }
    }

    #[test]
    fn a_scheme_distinguishes_an_address_from_a_path() {
        assert!(ServerEndpoint::has_scheme("WSS://policy.example"));
        for path in ["policy.zip", "http:", "ftp://policy.example", "/srv/http://policy", "\u{1F600}"] {
            assert!(!ServerEndpoint::has_scheme(path), "{path}");
        }
    }
}
