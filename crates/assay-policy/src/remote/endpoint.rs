//! The address of a policy server, as a client gives it.

use std::fmt;

use url::{Host, Url};

/// Longest address, in bytes.
const MAX_BYTES: usize = 2048;

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// openpi over a WebSocket.
    WebSocket,
    /// `POST /act`.
    Http,
}

/// A policy server's address. Prints without its query, which may hold a token.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerEndpoint {
    scheme: Scheme,
    tls: bool,
    host: Host<String>,
    port: u16,
    path: String,
    query: Option<String>,
}

/// An address that is none of a policy server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Too long.
    #[error("has more than {MAX_BYTES} bytes")]
    TooLong,
    /// No URL.
    #[error("is no URL ({0}): write for example ws://policy.example:8000 or http://policy.example:8000")]
    Url(url::ParseError),
    /// Another scheme.
    #[error("must begin with ws://, wss://, http:// or https://")]
    Scheme,
    /// No host.
    #[error("names no host")]
    Host,
}

impl ServerEndpoint {
    /// Reads an address. User name, password and fragment are dropped: no secret is ever sent that way.
    ///
    /// # Errors
    /// [`EndpointError`] says what to write instead.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        if text.len() > MAX_BYTES {
            return Err(EndpointError::TooLong);
        }
        let url = Url::parse(text).map_err(EndpointError::Url)?;
        let (scheme, tls) = match url.scheme() {
            "ws" => (Scheme::WebSocket, false),
            "wss" => (Scheme::WebSocket, true),
            "http" => (Scheme::Http, false),
            "https" => (Scheme::Http, true),
            _ => return Err(EndpointError::Scheme),
        };
        let host = url.host().ok_or(EndpointError::Host)?.to_owned();
        let port = url.port_or_known_default().ok_or(EndpointError::Host)?;
        Ok(Self { scheme, tls, host, port, path: url.path().to_owned(), query: url.query().map(str::to_owned) })
    }

    /// Whether `text` looks like an address at all, rather than a path.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        ["ws://", "wss://", "http://", "https://"]
            .iter()
            .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
    }

    /// How it is spoken to.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Name or literal address.
    #[must_use]
    pub fn host(&self) -> &Host<String> {
        &self.host
    }

    /// The port, the scheme's own where none was given.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `host:port` for the Host header.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The path, `/` at least.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The query, without its question mark.
    pub(crate) fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// The address in full, as it was given: to be kept, not shown.
    #[must_use]
    pub fn in_full(&self) -> String {
        self.query.as_ref().map_or_else(|| self.to_string(), |query| format!("{self}?{query}"))
    }
}

impl fmt::Display for ServerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (self.scheme, self.tls) {
            (Scheme::WebSocket, false) => "ws",
            (Scheme::WebSocket, true) => "wss",
            (Scheme::Http, false) => "http",
            (Scheme::Http, true) => "https",
        };
        write!(f, "{scheme}://{}:{}{}", self.host, self.port, self.path)
    }
}

impl fmt::Debug for ServerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}
