//! A message to an address that a client gave: one POST through the guard.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::allowance::Allowance;
use super::endpoint::{Endpoint, Scheme};
use super::guard::Guard;
use super::transport;

/// The same for an address that is refused and for one where nobody answers: this is no port scanner.
const CLOSED_OR_GONE: &str = "it could not be reached (from here, only public addresses and the networks in the \
                              operator's webhook_networks are)";

/// Looks at an address to which messages are to be posted: its form, and what can be said of it without asking anybody.
///
/// # Errors
/// What is wrong with it, for its client: a sentence that goes on after the address' name.
pub fn check_post(guard: &Guard, url: &str) -> Result<Endpoint, String> {
    let endpoint = Endpoint::parse(url).map_err(|error| error.to_string())?;
    if endpoint.scheme() != Scheme::Http {
        return Err("must begin with https:// or http://".to_owned());
    }
    match guard.check(&endpoint) {
        Ok(()) => Ok(endpoint),
        Err(_) => Err(format!("is refused: {CLOSED_OR_GONE}")),
    }
}

/// Posts a JSON text with these `headers`; returns the status of the answer, whose body is not read. Follows no redirect and
/// uses no proxy. The caller sets the deadline.
///
/// # Errors
/// Why there was no answer, for the client who gave the address.
pub async fn post(
    guard: &Guard,
    endpoint: &Endpoint,
    headers: &[(&'static str, String)],
    body: Vec<u8>,
) -> Result<u16, String> {
    let stream = match transport::connect(guard, endpoint, &Allowance::default()).await {
        Ok(stream) => stream,
        Err(transport::ConnectError::Dial(error)) => {
            tracing::info!(endpoint = %endpoint, reason = %error.in_full(), "a webhook's address was not reached");
            return Err(CLOSED_OR_GONE.to_owned());
        }
        Err(transport::ConnectError::Tls(why)) => return Err(format!("no encrypted connection: {why}")),
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
    let request = request.body(Full::new(Bytes::from(body))).map_err(|error| format!("no request: {error}"))?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|_| NO_HTTP.to_owned())?;
    // Ends with the exchange: a set aborts its tasks when it is dropped.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let answer = sender.send_request(request).await.map_err(|_| NO_HTTP.to_owned())?;
    Ok(answer.status().as_u16())
}

const NO_HTTP: &str = "the connection was closed, or what came was no HTTP";
