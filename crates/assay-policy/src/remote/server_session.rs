//! A session in the protocol that the server's address selects.

use assay_model::Secret;

use super::chunk::Chunk;
use super::connected::ConnectedSession;
use super::endpoint::ServerEndpoint;
use super::fault::ServerFault;
use super::guard::AddressGuard;
use super::http::HttpSession;
use super::observation::{Episode, RemoteObservation};
use super::openpi::OpenPiSession;
use super::protocol::Protocol;
use super::session::ProtocolSession;

/// The session of any protocol.
pub(crate) enum ServerSession {
    OpenPi(OpenPiSession),
    Http(HttpSession),
    Connected(Box<ConnectedSession>),
}

/// Evaluates an expression with the session, regardless of its protocol.
macro_rules! with_session {
    ($server:expr, $session:ident => $value:expr) => {
        match $server {
            ServerSession::OpenPi($session) => $value,
            ServerSession::Http($session) => $value,
            ServerSession::Connected($session) => $value,
        }
    };
}

impl ProtocolSession for ServerSession {
    async fn open(guard: &AddressGuard, endpoint: &ServerEndpoint, key: Option<&Secret>) -> Result<Self, ServerFault> {
        match endpoint.protocol() {
            Protocol::OpenPi => OpenPiSession::open(guard, endpoint, key).await.map(Self::OpenPi),
            Protocol::Http => HttpSession::open(guard, endpoint, key).await.map(Self::Http),
        }
    }

    fn describe(&self) -> String {
        with_session!(self, session => session.describe())
    }

    async fn reset(&mut self, episode: &Episode) -> Result<(), ServerFault> {
        with_session!(self, session => session.reset(episode).await)
    }

    async fn infer(&mut self, observation: RemoteObservation<'_>) -> Result<Chunk, ServerFault> {
        with_session!(self, session => session.infer(observation).await)
    }

    async fn idle(&mut self) -> ServerFault {
        with_session!(self, session => session.idle().await)
    }

    async fn close(self) -> u32 {
        with_session!(self, session => session.close().await)
    }
}
