//! The HTTP client of commands that talk to a service.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use assay_model::{Secret, sanitise};
use serde_json::Value;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, SendBody};

use crate::exit::{Failure, OrFail};

/// Maximum time to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Maximum time until a response begins once the request is sent: a large file is made durable meanwhile.
const RESPONSE_LIMIT: Duration = Duration::from_secs(300);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: u64 = 4 << 20;
/// Maximum size of a document, in bytes: a report of a thousand episodes, or its page.
const MAX_DOCUMENT_BYTES: u64 = 256 << 20;
/// Maximum length of a message of the service, in bytes.
const MAX_MESSAGE_BYTES: usize = 1000;

/// A client with a key.
#[derive(Debug)]
pub(crate) struct ServiceClient {
    agent: Agent,
    base: String,
    key: Secret,
}

/// A response of the service.
#[derive(Debug)]
pub(crate) struct ServiceResponse {
    pub(crate) status: u16,
    /// Delay that the service requests before the next attempt.
    pub(crate) retry_after: Option<Duration>,
    /// The JSON body; `null` without one.
    pub(crate) body: Value,
}

/// The outcome of a download.
#[derive(Debug)]
pub(crate) enum Download {
    /// All of the content was written.
    Complete,
    /// The service answered with an error.
    Refused(ServiceResponse),
}

/// A request that got no response.
#[derive(Debug)]
pub(crate) struct NoResponse {
    base: String,
    source: ureq::Error,
}

impl std::fmt::Display for NoResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no response from {}", self.base)
    }
}

impl std::error::Error for NoResponse {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl ServiceClient {
    /// Creates a client of the service at `server`.
    pub(crate) fn new(server: &str, key: Secret) -> anyhow::Result<Self> {
        Ok(Self { agent: agent(server)?, base: server.trim_end_matches('/').to_owned(), key })
    }

    /// Sends a GET request.
    pub(crate) fn get(&self, path: &str) -> Result<ServiceResponse, NoResponse> {
        self.response(self.agent.get(self.url(path)).header("authorization", self.bearer()).call())
    }

    /// Sends a DELETE request.
    pub(crate) fn delete(&self, path: &str) -> Result<ServiceResponse, NoResponse> {
        self.response(self.agent.delete(self.url(path)).header("authorization", self.bearer()).call())
    }

    /// Sends a POST request with a JSON body.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<ServiceResponse, NoResponse> {
        let request = self.agent.post(self.url(path)).header("authorization", self.bearer());
        self.response(request.header("content-type", "application/json").send(body.to_string()))
    }

    /// Sends a POST request without a body.
    pub(crate) fn post_empty(&self, path: &str) -> Result<ServiceResponse, NoResponse> {
        self.response(self.agent.post(self.url(path)).header("authorization", self.bearer()).send_empty())
    }

    /// Sends a POST request with a form of short texts. `boundary` must not occur in any of them.
    pub(crate) fn post_form(
        &self,
        path: &str,
        boundary: &str,
        parts: &[(&str, String)],
    ) -> Result<ServiceResponse, NoResponse> {
        let mut body = String::new();
        for (name, value) in parts {
            let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend([head.as_str(), value, "\r\n"]);
        }
        body.push_str(&format!("--{boundary}--\r\n"));
        let request = self.agent.post(self.url(path)).header("authorization", self.bearer());
        self.response(request.header("content-type", format!("multipart/form-data; boundary={boundary}")).send(body))
    }

    /// Returns a document of the service as text.
    pub(crate) fn document(&self, path: &str) -> Result<String, Failure> {
        let failed = |error| NoResponse { base: self.base.clone(), source: error };
        let sent = self.agent.get(self.url(path)).header("authorization", self.bearer()).call();
        let mut response = sent.map_err(failed).or_internal()?;
        let text = response.body_mut().with_config().limit(MAX_DOCUMENT_BYTES).read_to_string();
        let text = text.map_err(failed).or_internal()?;
        match response.status().as_u16() {
            200 => Ok(text),
            status => {
                let body = serde_json::from_str(&text).unwrap_or_default();
                Err(ServiceResponse { status, retry_after: None, body }.failure())
            }
        }
    }

    /// Downloads the content at `path`, at most `max_bytes` of it. Returns the status, and the error response if it is
    /// not 200.
    pub(crate) fn download(&self, path: &str, max_bytes: u64, to: &mut dyn Write) -> Result<Download, Failure> {
        let request = self.agent.get(self.url(path)).header("authorization", self.bearer());
        self.content(request.call(), max_bytes, to)
    }

    /// Downloads a file of evidence from the address that the service signed, as [`Self::download`] does. The key is
    /// not sent: the file may be at another host.
    pub(crate) fn download_signed(&self, url: &str, max_bytes: u64, to: &mut dyn Write) -> Result<Download, Failure> {
        let url = if url.starts_with('/') { self.url(url) } else { url.to_owned() };
        let sent = self.agent.get(url).call();
        let elsewhere = sent.as_ref().ok().filter(|response| response.status().as_u16() == 307);
        let elsewhere = elsewhere.and_then(|response| response.headers().get("location")?.to_str().ok());
        let sent = match elsewhere.map(|url| self.agent.get(url).call()) {
            Some(redirected) => redirected,
            None => sent,
        };
        self.content(sent, max_bytes, to)
    }

    fn content(
        &self,
        sent: Result<Response<Body>, ureq::Error>,
        max_bytes: u64,
        to: &mut dyn Write,
    ) -> Result<Download, Failure> {
        let failed = |error| NoResponse { base: self.base.clone(), source: error };
        if sent.as_ref().is_ok_and(|response| response.status().as_u16() != 200) {
            return self.response(sent).map(Download::Refused).or_internal();
        }
        let mut response = sent.map_err(failed).or_internal()?;
        let mut content = response.body_mut().as_reader().take(max_bytes.saturating_add(1));
        let copied = std::io::copy(&mut content, to).context("a download was interrupted").or_internal()?;
        if copied > max_bytes {
            return Err(Failure::Internal(anyhow!("the service sent more than {max_bytes} bytes")));
        }
        Ok(Download::Complete)
    }

    /// Returns the full URL of a path of the service.
    pub(crate) fn address(&self, path: &str) -> String {
        self.url(path)
    }

    /// Sends a PATCH request with the next `length` bytes of `content`, which belong at `offset`.
    pub(crate) fn append(
        &self,
        path: &str,
        offset: u64,
        (mut content, length): (impl Read, u64),
    ) -> Result<ServiceResponse, NoResponse> {
        let request = self.agent.patch(self.url(path)).header("authorization", self.bearer());
        let request = request
            .header("content-type", "application/octet-stream")
            .header("content-length", length)
            .header("upload-offset", offset);
        self.response(request.send(SendBody::from_reader(&mut content)))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.key.reveal())
    }

    fn response(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<ServiceResponse, NoResponse> {
        let failed = |error| NoResponse { base: self.base.clone(), source: error };
        let mut response = sent.map_err(failed)?;
        let header = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let text = response.body_mut().with_config().limit(MAX_RESPONSE_BYTES).read_to_string().map_err(failed)?;
        Ok(ServiceResponse {
            status: response.status().as_u16(),
            retry_after: header.map(Duration::from_secs),
            body: serde_json::from_str(&text).unwrap_or_default(),
        })
    }
}

impl ServiceResponse {
    /// Returns the body of a successful response.
    pub(crate) fn success(self) -> Result<Value, Failure> {
        if (200..300).contains(&self.status) { Ok(self.body) } else { Err(self.failure()) }
    }

    /// Returns the failure that an error response describes.
    pub(crate) fn failure(&self) -> Failure {
        let message = self.body["error"]["message"].as_str().unwrap_or("the response is not from an assay service");
        let error = anyhow!("{} (HTTP {})", sanitise(message, MAX_MESSAGE_BYTES), self.status);
        if (400..500).contains(&self.status) { Failure::Usage(error) } else { Failure::Internal(error) }
    }
}

/// Returns the agent for requests to the service at `server`.
///
/// # Errors
/// It is not the address of a service.
pub(crate) fn agent(server: &str) -> anyhow::Result<Agent> {
    if !server.starts_with("http://") && !server.starts_with("https://") {
        return Err(anyhow!("--server {server}: begin with https:// or http://"));
    }
    let config = Agent::config_builder()
        .timeout_connect(Some(CONNECT_LIMIT))
        .timeout_recv_response(Some(RESPONSE_LIMIT))
        // A redirect would send the key elsewhere.
        .max_redirects(0)
        .http_status_as_error(false)
        .tls_config(tls())
        .build();
    Ok(Agent::new_with_config(config))
}

fn tls() -> TlsConfig {
    let found = rustls_native_certs::load_native_certs();
    let certificates: Vec<_> = found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}
