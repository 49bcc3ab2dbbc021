//! Posts a message through the guard to an address that a client supplied.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
use url::Url;

use super::allowance::ReceiveAllowance;
use super::endpoint::ServerEndpoint;
use super::guard::{AddressGuard, DialError};
use super::protocol::Protocol;
use super::transport;

/// Message for refused and for unreachable addresses alike, so that the service cannot be used as a port scanner.
const CLOSED_OR_GONE: &str = "it could not be reached (from here, only public addresses and the networks in the \
                              operator's webhook_networks are)";

const NO_ADDRESS: &str = "must be an address such as https://ci.example.org/assay, of at most 2048 bytes";

/// Checks an address to which messages are to be posted: its form, and everything that needs no look-up.
///
/// # Errors
/// The problem of the address, for the client: the rest of a sentence that begins with the address.
pub fn check_post(guard: &AddressGuard, url: &str) -> Result<ServerEndpoint, String> {
    let endpoint = ServerEndpoint::parse(url).map_err(|_| NO_ADDRESS.to_owned())?;
    if endpoint.protocol() != Protocol::Http {
        return Err(NO_ADDRESS.to_owned());
    }
    if Url::parse(url).is_ok_and(|url| !url.username().is_empty() || url.password().is_some()) {
        return Err("has a user name or a password, which are never sent: the signature shows who sends".to_owned());
    }
    match guard.check(&endpoint) {
        Ok(()) => Ok(endpoint),
        Err(_) => Err(format!("is refused: {CLOSED_OR_GONE}")),
    }
}

/// Posts a JSON text with these `headers`; returns the status of the answer, whose body is not read. Follows no
/// redirect and uses no proxy. The caller sets the deadline.
///
/// # Errors
/// The reason for the missing answer, for the client that gave the address.
pub async fn post(
    guard: &AddressGuard,
    endpoint: &ServerEndpoint,
    headers: &[(&'static str, String)],
    body: Vec<u8>,
) -> Result<u16, String> {
    let stream = match transport::connect(guard, endpoint, &ReceiveAllowance::default()).await {
        Ok(stream) => stream,
        Err(transport::ConnectError::Dial(error)) => {
            tracing::info!(endpoint = %endpoint, reason = reason(&error), "could not connect to webhook address");
            return Err(CLOSED_OR_GONE.to_owned());
        }
        Err(transport::ConnectError::Tls(why)) => {
            // The reason quotes the certificate, which may be long and contain names of the operator's own network.
            let reason = assay_model::sanitise(&why, MAX_REASON_BYTES);
            tracing::info!(endpoint = %endpoint, reason, "could not encrypt connection to webhook address");
            return Err(NO_TLS.to_owned());
        }
    };
    let target =
        endpoint.query().map_or_else(|| endpoint.path().to_owned(), |query| format!("{}?{query}", endpoint.path()));
    let request = Request::builder()
        .method(Method::POST)
        .uri(target)
        .header(HOST, endpoint.authority())
        .header(USER_AGENT, concat!("assay/", env!("CARGO_PKG_VERSION")))
        .header(CONTENT_TYPE, "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
    let request =
        request.body(Full::new(Bytes::from(body))).map_err(|error| format!("could not create the request: {error}"))?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|_| NO_HTTP.to_owned())?;
    // The driver ends with the exchange, because a set aborts its tasks when it is dropped.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let answer = sender.send_request(request).await.map_err(|_| NO_HTTP.to_owned())?;
    Ok(answer.status().as_u16())
}

/// Returns the reason of a failed connection, for the operator.
fn reason(error: &DialError) -> String {
    match error {
        DialError::Closed(ip, what) => {
            format!("{ip} is {what}: add its network to server.webhook_networks to allow it")
        }
        other => other.in_full(),
    }
}

/// Maximum length of a logged reason, in bytes.
const MAX_REASON_BYTES: usize = 400;
const NO_TLS: &str = "no encrypted connection: its certificate is not trusted or not valid for its name";
const NO_HTTP: &str = "the connection was closed, or the answer was not HTTP";
