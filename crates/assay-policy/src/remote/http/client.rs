//! Requests over one persistent connection, without redirects, proxies or cookies. A connection that was lost between
//! two requests is opened again, through the guard.

use std::time::Duration;

use assay_model::{Secret, sanitise};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::words::quoted_words;
use crate::remote::allowance::ReceiveAllowance;
use crate::remote::endpoint::ServerEndpoint;
use crate::remote::fault::ServerFault;
use crate::remote::guard::AddressGuard;
use crate::remote::limits::MAX_REPLY_BYTES;
use crate::remote::transport;

/// Maximum length of the part of an answer that an error includes, in bytes.
const SHOWN_BYTES: usize = 16 * 1024;
/// Maximum length of the part of an answer in the error's first line, in bytes.
const MAX_LINE_BYTES: usize = 400;

/// Part of hyper's message about bytes received between two requests; there is no other way to recognise this error.
const UNASKED: &str = "unexpected message";
/// Maximum time for a driver to end after its connection was lost.
const DRIVER_LIMIT: Duration = Duration::from_millis(100);

/// A client of one server.
pub(crate) struct HttpClient {
    guard: AddressGuard,
    endpoint: ServerEndpoint,
    authorization: Option<HeaderValue>,
    allowance: ReceiveAllowance,
    connection: Connection,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<hyper::Result<()>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A complete answer.
pub(super) struct HttpAnswer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl HttpClient {
    pub(super) async fn open(
        guard: &AddressGuard,
        endpoint: &ServerEndpoint,
        key: Option<&Secret>,
    ) -> Result<Self, ServerFault> {
        let bearer = |key: &Secret| {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal())).map_err(|_| {
                ServerFault::mismatch("policy_api_key has characters that are not allowed in an HTTP header")
            })?;
            value.set_sensitive(true);
            Ok(value)
        };
        let authorization = key.map(bearer).transpose()?;
        let allowance = ReceiveAllowance::default();
        let connection = Connection::open(guard, endpoint, &allowance).await?;
        Ok(Self { guard: guard.clone(), endpoint: endpoint.clone(), authorization, allowance, connection })
    }

    /// Creates a client over a connected stream.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) async fn over(
        stream: Box<dyn transport::Transport>,
        allowance: ReceiveAllowance,
        guard: &AddressGuard,
        endpoint: &ServerEndpoint,
    ) -> Result<Self, ServerFault> {
        let connection = Connection::over(stream).await?;
        Ok(Self { guard: guard.clone(), endpoint: endpoint.clone(), authorization: None, allowance, connection })
    }

    pub(super) fn endpoint(&self) -> &ServerEndpoint {
        &self.endpoint
    }

    pub(super) async fn get(&mut self, path: &str) -> Result<HttpAnswer, ServerFault> {
        self.request(Method::GET, path, Bytes::new()).await
    }

    pub(super) async fn post(&mut self, path: &str, body: &Value) -> Result<HttpAnswer, ServerFault> {
        self.request(Method::POST, path, Bytes::from(body.to_string())).await
    }

    async fn request(&mut self, method: Method, path: &str, body: Bytes) -> Result<HttpAnswer, ServerFault> {
        self.allowance.renew();
        let answer = self.ask(&method, path, &body).await;
        answer.map_err(|fault| self.allowance.explain(fault))
    }

    async fn ask(&mut self, method: &Method, path: &str, body: &Bytes) -> Result<HttpAnswer, ServerFault> {
        if self.connection.sender.ready().await.is_err() {
            self.reconnect().await?;
        }
        let response = match self.connection.sender.try_send_request(self.message(method, path, body)?).await {
            Ok(response) => response,
            Err(mut error) => {
                if error.take_message().is_none() {
                    return Err(broken(error.error()));
                }
                // The connection was closed before the request was sent.
                self.reconnect().await?;
                let message = self.message(method, path, body)?;
                self.connection.sender.send_request(message).await.map_err(|error| broken(&error))?
            }
        };
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_REPLY_BYTES).collect().await.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                return ServerFault::protocol(format!(
                    "an answer of more than {} MiB",
                    MAX_REPLY_BYTES / (1024 * 1024)
                ));
            }
            ServerFault::closed(" in the middle of an answer")
        })?;
        Ok(HttpAnswer { status, body: body.to_bytes() })
    }

    /// Reconnects after the connection was lost between two requests.
    async fn reconnect(&mut self) -> Result<(), ServerFault> {
        let ended = tokio::time::timeout(DRIVER_LIMIT, &mut self.connection.driver).await;
        if let Ok(Ok(Err(error))) = ended
            && error.to_string().contains(UNASKED)
        {
            return Err(ServerFault::unasked());
        }
        self.connection = Connection::open(&self.guard, &self.endpoint, &self.allowance).await?;
        Ok(())
    }

    fn message(&self, method: &Method, path: &str, body: &Bytes) -> Result<Request<Full<Bytes>>, ServerFault> {
        let base = self.endpoint.path().trim_end_matches('/');
        let base = base.strip_suffix("/act").unwrap_or(base);
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{base}{path}"))
            .header(HOST, self.endpoint.authority())
            .header(USER_AGENT, concat!("assay/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "application/json");
        if method == Method::POST {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request.body(Full::new(body.clone())).map_err(|error| ServerFault::mismatch(error.to_string()))
    }
}

impl Connection {
    async fn open(
        guard: &AddressGuard,
        endpoint: &ServerEndpoint,
        allowance: &ReceiveAllowance,
    ) -> Result<Self, ServerFault> {
        Self::over(transport::open(guard, endpoint, allowance).await?).await
    }

    async fn over(stream: Box<dyn transport::Transport>) -> Result<Self, ServerFault> {
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
        let driver = tokio::spawn(connection);
        Ok(Self { sender, driver })
    }
}

impl HttpAnswer {
    /// Returns the JSON of a successful answer.
    pub(super) fn json(&self) -> Result<Value, ServerFault> {
        self.check()?;
        serde_json::from_slice(&self.body).or_else(|error| {
            let fault = |_| ServerFault::protocol(format!("not JSON ({error})"));
            serde_json::from_slice(&quoted_words(&self.body).unwrap_or_default()).map_err(fault)
        })
    }

    /// Checks that the answer is successful.
    pub(super) fn check(&self) -> Result<(), ServerFault> {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(SHOWN_BYTES)]);
        match self.status {
            status if status.is_success() => Ok(()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(ServerFault::connect("the policy server refused the key or requires one (policy_api_key)"))
            }
            status if status.is_redirection() => Err(ServerFault::protocol(format!(
                "{status}, a redirect, which is never followed; use the address that it leads to"
            ))),
            status => {
                if let Some(error) = self.error() {
                    return Err(ServerFault::server(&error));
                }
                let shown = sanitise(text.trim(), MAX_LINE_BYTES);
                let line = format!("the policy server answered {status}: {shown}");
                Err(ServerFault::server_line(line, &text))
            }
        }
    }

    /// Returns the text of an error in assay's own contract, `{"error": ...}`.
    fn error(&self) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body.get("error").and_then(Value::as_str).map(str::to_owned)
    }
}

fn broken(error: &hyper::Error) -> ServerFault {
    if error.is_parse() {
        return ServerFault::protocol(format!("not HTTP ({error})"));
    }
    ServerFault::closed("")
}
