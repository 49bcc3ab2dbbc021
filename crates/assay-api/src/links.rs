//! Addresses in responses: absolute where the address of the service is known, relative otherwise.
//!
//! It is known from the setting `public_url`, or when a client on this machine speaks to the server itself: the
//! connection's own address is loopback, no proxy has left a header, and `Host` names the address that the server
//! listens on. `Host` is only compared: what is written is the server's own address. Pages get paths, since a browser
//! resolves them against the address that it knows.
//!
//! The handlers of a request run in [`RequestLinks::within`], so that each view writes its addresses alike.

use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

use crate::settings::ApiSettings;

/// Headers that proxies add, besides those that begin with [`FORWARDED_PREFIX`].
const FORWARDING: [&str; 6] = ["forwarded", "via", "x-real-ip", "x-original-host", "x-client-ip", "true-client-ip"];
const FORWARDED_PREFIX: &str = "x-forwarded";
/// The port that an address of HTTP may leave out.
const HTTP_PORT: u16 = 80;
/// The warning on a response with relative addresses.
const RELATIVE: HeaderValue = HeaderValue::from_static(
    "299 assay \"addresses are relative: the service does not know its own (server.public_url)\"",
);

tokio::task_local! {
    static CURRENT: RequestLinks;
}

/// The addresses of a connection on the server's side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionAddresses {
    /// Address of this end of the connection.
    pub(crate) own: SocketAddr,
    /// Address that the server listens on.
    pub(crate) listening: SocketAddr,
}

/// Writes the addresses in the response to one request.
#[derive(Debug)]
pub(crate) struct RequestLinks {
    /// The address of the service, without a final slash, if it is known.
    base: Option<Arc<str>>,
    /// True for a page, whose addresses are paths.
    is_page: bool,
    /// True once a relative address was written because none was known.
    is_relative: Cell<bool>,
}

impl RequestLinks {
    /// Creates the links for a request on a connection with these addresses; they are unknown in some tests.
    pub(crate) fn new(
        settings: &ApiSettings,
        is_page: bool,
        connection: Option<&ConnectionAddresses>,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Self {
        let public = settings.public_url.as_deref().map(|url| Arc::from(url.trim_end_matches('/')));
        let base = public.or_else(|| connection.and_then(|connection| local_base(*connection, headers, uri)));
        Self { base, is_page, is_relative: Cell::new(false) }
    }

    /// Runs a handler whose responses contain these links. Returns its response, and the warning that it needs, if any.
    pub(crate) async fn within<T>(self, handler: impl Future<Output = T>) -> (T, Option<HeaderValue>) {
        let watched = async {
            let response = handler.await;
            (response, CURRENT.with(|links| links.is_relative.get()))
        };
        let (response, is_relative) = CURRENT.scope(self, watched).await;
        (response, is_relative.then_some(RELATIVE))
    }

    fn address(&self, settings: &ApiSettings, path: &str) -> String {
        match &self.base {
            _ if self.is_page => format!("{}{path}", settings.base_path()),
            Some(base) => format!("{base}{path}"),
            None => {
                self.is_relative.set(true);
                path.to_owned()
            }
        }
    }
}

/// Returns the address of `path` (which starts with `/`) for the client of the current request, or for the receiver of
/// a message outside of one.
pub(crate) fn address(settings: &ApiSettings, path: &str) -> String {
    CURRENT.try_with(|links| links.address(settings, path)).unwrap_or_else(|_| settings.message_address(path))
}

/// Returns whether the address of the service is known, so that messages to others can contain it.
pub(crate) fn is_address_known() -> bool {
    CURRENT.try_with(|links| links.base.is_some()).unwrap_or_default()
}

/// Returns the server's own address, if the client of this request is on this machine and speaks to the server itself.
fn local_base(connection: ConnectionAddresses, headers: &HeaderMap, uri: &Uri) -> Option<Arc<str>> {
    let ConnectionAddresses { own, listening } = connection;
    let is_local = own.ip().is_loopback() && listening.ip().is_loopback();
    if !is_local || headers.keys().any(is_forwarding) {
        return None;
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return None };
    let names = |text: &[u8]| {
        let address = listening.to_string();
        let short = address.strip_suffix(":80").filter(|_| listening.port() == HTTP_PORT);
        text == address.as_bytes() || short.is_some_and(|short| text == short.as_bytes())
    };
    // The target of a request may name a host as well, as requests to proxies do.
    let fits = names(host.as_bytes()) && uri.authority().is_none_or(|target| names(target.as_str().as_bytes()));
    fits.then(|| Arc::from(format!("http://{listening}")))
}

fn is_forwarding(name: &HeaderName) -> bool {
    name.as_str().starts_with(FORWARDED_PREFIX) || FORWARDING.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const LISTENING: &str = "127.0.0.1:8080";

    async fn written(
        public_url: Option<&str>,
        own: &str,
        listening: &str,
        request: &[(&'static str, &str)],
        target: &str,
    ) -> (String, bool, bool) {
        let settings = ApiSettings { public_url: public_url.map(str::to_owned), ..ApiSettings::default() };
        let headers =
            request.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect();
        let connection = ConnectionAddresses { own: own.parse().unwrap(), listening: listening.parse().unwrap() };
        let links = RequestLinks::new(&settings, false, Some(&connection), &headers, &target.parse().unwrap());
        let handler = async { (address(&settings, "/verify/1"), is_address_known()) };
        let ((address, is_known), warning) = links.within(handler).await;
        (address, is_known, warning.is_some())
    }

    #[tokio::test]
    async fn addresses_are_absolute_only_where_the_service_knows_its_own() {
        let host = ("host", LISTENING);
        for (own, listening, request, absolute) in [
            (LISTENING, LISTENING, &[host][..], Some("http://127.0.0.1:8080")),
            ("[::1]:8080", "[::1]:8080", &[("host", "[::1]:8080")], Some("http://[::1]:8080")),
            ("127.0.0.1:80", "127.0.0.1:80", &[("host", "127.0.0.1")], Some("http://127.0.0.1:80")),
            (LISTENING, LISTENING, &[("host", "127.0.0.1:8081")], None),
            (LISTENING, LISTENING, &[("host", "127.0.0.1")], None),
            (LISTENING, LISTENING, &[("host", "evil.test")], None),
            (LISTENING, LISTENING, &[("host", "127.0.0.1:8080.evil.test")], None),
            (LISTENING, LISTENING, &[("host", "localhost:8080")], None),
            (LISTENING, LISTENING, &[], None),
            (LISTENING, LISTENING, &[host, host], None),
            (LISTENING, LISTENING, &[host, ("forwarded", "for=1.2.3.4")], None),
            (LISTENING, LISTENING, &[host, ("x-forwarded-for", "1.2.3.4")], None),
            (LISTENING, LISTENING, &[host, ("x-forwarded-proto", "https")], None),
            (LISTENING, LISTENING, &[host, ("via", "1.1 proxy")], None),
            (LISTENING, LISTENING, &[host, ("x-real-ip", "1.2.3.4")], None),
            ("192.0.2.1:8080", "192.0.2.1:8080", &[("host", "192.0.2.1:8080")], None),
            (LISTENING, "0.0.0.0:8080", &[host], None),
            (LISTENING, "0.0.0.0:8080", &[("host", "0.0.0.0:8080")], None),
        ] {
            let found = written(None, own, listening, request, "/verify").await;
            let expected = match absolute {
                Some(base) => (format!("{base}/verify/1"), true, false),
                None => ("/verify/1".to_owned(), false, true),
            };
            assert_eq!(found, expected, "{own} {listening} {request:?}");
            let public = written(Some("https://x.org/assay/"), own, listening, request, "/verify").await;
            assert_eq!(public, ("https://x.org/assay/verify/1".to_owned(), true, false), "{request:?}");
        }
        for (target, is_known) in [("http://127.0.0.1:8080/verify", true), ("http://evil.test/verify", false)] {
            assert_eq!(written(None, LISTENING, LISTENING, &[host], target).await.1, is_known, "{target}");
        }
    }

    #[tokio::test]
    async fn pages_have_paths_and_no_warning() {
        for (public_url, path) in [(None, "/verify/1"), (Some("https://x.org/assay/"), "/assay/verify/1")] {
            let settings = ApiSettings { public_url: public_url.map(str::to_owned), ..ApiSettings::default() };
            let links = RequestLinks::new(&settings, true, None, &HeaderMap::new(), &Uri::from_static("/ui"));
            let (address, warning) = links.within(async { address(&settings, "/verify/1") }).await;
            assert_eq!((address.as_str(), warning), (path, None));
        }
    }
}
