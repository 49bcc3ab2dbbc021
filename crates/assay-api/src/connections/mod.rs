//! Connections that policies open to the service: their tokens (`tokens`), the WebSocket handshake (`handshake`), the
//! copying of bytes between socket and worker (`carry`), and which jobs this server can run (`fitness`). Frames are the
//! worker's business.

mod carry;
mod fitness;
mod handshake;
mod tokens;

pub(crate) use carry::carry;
pub(crate) use fitness::unfit;
pub(crate) use handshake::{Handshake, switching_protocols};
pub use tokens::ConnectionTokens;
pub(crate) use tokens::TokenHash;
