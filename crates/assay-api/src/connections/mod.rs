//! Connections that policies open to the service: their tokens (`tokens`), the WebSocket handshake (`handshake`), and
//! the copying of bytes between socket and worker (`carry`). Frames are the worker's business.

mod carry;
mod handshake;
mod tokens;

pub(crate) use carry::carry;
pub(crate) use handshake::{Handshake, switching_protocols};
pub use tokens::ConnectionTokens;
pub(crate) use tokens::TokenHash;
