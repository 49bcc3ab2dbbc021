//! One episode's conversation with a server, whatever it speaks.

use assay_model::Secret;

use super::chunk::Chunk;
use super::endpoint::{Scheme, ServerEndpoint};
use super::fault::ServerFault;
use super::guard::AddressGuard;
use super::observation::{Episode, RemoteObservation};
use super::{http, openpi};

/// What a protocol does.
pub(crate) enum ServerSession {
    OpenPi(openpi::OpenPiSession),
    Http(http::HttpSession),
}

impl ServerSession {
    /// Connects and learns what the server is.
    pub(crate) async fn open(
        guard: &AddressGuard,
        endpoint: &ServerEndpoint,
        key: Option<&Secret>,
    ) -> Result<Self, ServerFault> {
        match endpoint.scheme() {
            Scheme::WebSocket => openpi::OpenPiSession::open(guard, endpoint, key).await.map(Self::OpenPi),
            Scheme::Http => http::HttpSession::open(guard, endpoint, key).await.map(Self::Http),
        }
    }

    /// What was found, in words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::OpenPi(session) => session.describe(),
            Self::Http(session) => session.describe(),
        }
    }

    /// Begins the episode.
    pub(crate) async fn reset(&mut self, episode: &Episode) -> Result<(), ServerFault> {
        match self {
            Self::OpenPi(session) => session.reset(episode).await,
            Self::Http(session) => session.reset(episode).await,
        }
    }

    /// Asks for actions.
    pub(crate) async fn infer(&mut self, observation: RemoteObservation<'_>) -> Result<Chunk, ServerFault> {
        match self {
            Self::OpenPi(session) => session.infer(observation).await,
            Self::Http(session) => session.infer(observation).await,
        }
    }

    /// Keeps the connection alive while physics runs; returns only when something goes wrong. May be dropped and begun
    /// again at any point.
    pub(crate) async fn idle(&mut self) -> ServerFault {
        match self {
            Self::OpenPi(session) => session.idle().await,
            Self::Http(_) => std::future::pending().await,
        }
    }

    /// Says good-bye; returns how many messages came that nobody had asked for.
    pub(crate) async fn close(&mut self) -> u32 {
        match self {
            Self::OpenPi(session) => session.close().await,
            Self::Http(_) => 0,
        }
    }
}
