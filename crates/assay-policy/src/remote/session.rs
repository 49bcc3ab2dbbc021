//! One episode's conversation with a server, whatever it speaks.

use assay_model::Secret;

use super::chunk::Chunk;
use super::endpoint::{Endpoint, Scheme};
use super::fault::Fault;
use super::guard::Guard;
use super::observation::{Episode, Observation};
use super::{http, openpi};

/// What a protocol does.
pub(crate) enum Session {
    OpenPi(openpi::Session),
    Http(http::Session),
}

impl Session {
    /// Connects and learns what the server is.
    pub(crate) async fn open(guard: &Guard, endpoint: &Endpoint, key: Option<&Secret>) -> Result<Self, Fault> {
        match endpoint.scheme() {
            Scheme::WebSocket => openpi::Session::open(guard, endpoint, key).await.map(Self::OpenPi),
            Scheme::Http => http::Session::open(guard, endpoint, key).await.map(Self::Http),
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
    pub(crate) async fn reset(&mut self, episode: &Episode) -> Result<(), Fault> {
        match self {
            Self::OpenPi(session) => session.reset(episode).await,
            Self::Http(session) => session.reset(episode).await,
        }
    }

    /// Asks for actions.
    pub(crate) async fn infer(&mut self, observation: Observation<'_>) -> Result<Chunk, Fault> {
        match self {
            Self::OpenPi(session) => session.infer(observation).await,
            Self::Http(session) => session.infer(observation).await,
        }
    }

    /// Keeps the connection alive while physics runs; returns only when something goes wrong. May be dropped and begun
    /// again at any point.
    pub(crate) async fn idle(&mut self) -> Fault {
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
