//! Interface that a protocol implements.

use std::future::pending;

use assay_model::Secret;

use super::chunk::Chunk;
use super::endpoint::ServerEndpoint;
use super::fault::ServerFault;
use super::guard::AddressGuard;
use super::observation::{Episode, RemoteObservation};

/// One episode's conversation with a policy server, in one protocol.
///
/// The caller limits the time of every call but [`Self::close`], by dropping its future. Every error of the server
/// is a [`ServerFault`]; sizes, shapes and texts that it sends must be bounded and checked before use.
pub(crate) trait ProtocolSession: Sized {
    /// Connects through the guard, and identifies the server.
    async fn open(guard: &AddressGuard, endpoint: &ServerEndpoint, key: Option<&Secret>) -> Result<Self, ServerFault>;

    /// Returns the description of the server's protocol for the report.
    fn describe(&self) -> String;

    /// Begins the episode.
    async fn reset(&mut self, episode: &Episode) -> Result<(), ServerFault>;

    /// Requests actions.
    async fn infer(&mut self, observation: RemoteObservation<'_>) -> Result<Chunk, ServerFault>;

    /// Keeps the connection alive while the physics runs; returns only when something goes wrong. The future may be
    /// dropped at any point, and the call repeated. A protocol without messages between requests keeps this default.
    async fn idle(&mut self) -> ServerFault {
        pending().await
    }

    /// Ends the conversation, within a time limit of its own; returns the number of unsolicited messages.
    async fn close(self) -> u32 {
        0
    }
}
