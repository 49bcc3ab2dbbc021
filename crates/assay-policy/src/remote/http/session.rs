//! An episode over HTTP.

use assay_model::Secret;
use hyper::StatusCode;

use super::client::HttpClient;
use super::style::{Style, actions};
use crate::remote::chunk::Chunk;
use crate::remote::endpoint::ServerEndpoint;
use crate::remote::fault::ServerFault;
use crate::remote::guard::AddressGuard;
use crate::remote::observation::{Episode, RemoteObservation};
use crate::remote::session::ProtocolSession;

/// A connection to a server of known style.
pub(crate) struct HttpSession {
    client: HttpClient,
    style: Style,
}

impl HttpSession {
    /// Determines the server's style.
    pub(crate) async fn over(mut client: HttpClient) -> Result<Self, ServerFault> {
        let health = client.get("/health").await?;
        let style = if is_absent(health.status) {
            Style::Image
        } else {
            health.check()?;
            Style::Named
        };
        Ok(Self { client, style })
    }
}

impl ProtocolSession for HttpSession {
    async fn open(guard: &AddressGuard, endpoint: &ServerEndpoint, key: Option<&Secret>) -> Result<Self, ServerFault> {
        Self::over(HttpClient::open(guard, endpoint, key).await?).await
    }

    fn describe(&self) -> String {
        self.style.describe().to_owned()
    }

    async fn reset(&mut self, episode: &Episode) -> Result<(), ServerFault> {
        self.style.check(episode)?;
        let answer = self.client.post("/reset", &self.style.reset(episode)).await?;
        // A server without state needs no reset.
        if is_absent(answer.status) { Ok(()) } else { answer.check() }
    }

    async fn infer(&mut self, observation: RemoteObservation<'_>) -> Result<Chunk, ServerFault> {
        let request = self.style.act(observation, self.client.endpoint());
        let reply = self.client.post("/act", &request).await?.json()?;
        Chunk::new(actions(&reply)?, observation.episode.action_dim)
    }
}

/// Reads an answer to a request for actions.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read(status: u16, body: &[u8], action_dim: usize) -> Result<Chunk, ServerFault> {
    let status = StatusCode::from_u16(status).map_err(|error| ServerFault::mismatch(error.to_string()))?;
    let answer = super::client::HttpAnswer { status, body: hyper::body::Bytes::copy_from_slice(body) };
    Chunk::new(actions(&answer.json()?)?, action_dim)
}

/// Returns true if the server does not have the route.
fn is_absent(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
}
