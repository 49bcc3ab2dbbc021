//! An episode over HTTP.

use assay_model::Secret;
use hyper::StatusCode;

use super::client::Client;
use super::style::{Style, actions};
use crate::remote::chunk::Chunk;
use crate::remote::endpoint::Endpoint;
use crate::remote::fault::Fault;
use crate::remote::guard::Guard;
use crate::remote::observation::{Episode, Observation};

/// A server whose style is known.
pub(crate) struct Session {
    client: Client,
    style: Style,
}

impl Session {
    pub(crate) async fn open(guard: &Guard, endpoint: &Endpoint, key: Option<&Secret>) -> Result<Self, Fault> {
        Self::over(Client::open(guard, endpoint, key).await?).await
    }

    /// Learns the server's style.
    pub(crate) async fn over(mut client: Client) -> Result<Self, Fault> {
        let health = client.get("/health").await?;
        let style = if is_absent(health.status) {
            Style::Image
        } else {
            health.check()?;
            Style::Named
        };
        Ok(Self { client, style })
    }

    pub(crate) fn describe(&self) -> String {
        self.style.describe().to_owned()
    }

    pub(crate) async fn reset(&mut self, episode: &Episode) -> Result<(), Fault> {
        self.style.check(episode)?;
        let answer = self.client.post("/reset", &self.style.reset(episode)).await?;
        // A server without state needs no reset.
        if is_absent(answer.status) { Ok(()) } else { answer.check() }
    }

    pub(crate) async fn infer(&mut self, observation: Observation<'_>) -> Result<Chunk, Fault> {
        let request = self.style.act(observation, self.client.endpoint());
        let reply = self.client.post("/act", &request).await?.json()?;
        Chunk::new(actions(&reply)?, observation.episode.action_dim)
    }
}

/// Reads an answer as one to a request for actions.
#[cfg(feature = "fuzzing")]
pub(crate) fn read(status: u16, body: &[u8], action_dim: usize) -> Result<Chunk, Fault> {
    let status = StatusCode::from_u16(status).map_err(|error| Fault::mismatch(error.to_string()))?;
    let answer = super::client::Answer { status, body: hyper::body::Bytes::copy_from_slice(body) };
    Chunk::new(actions(&answer.json()?)?, action_dim)
}

/// The server has no such route.
fn is_absent(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
}
