//! The openpi WebSocket protocol (openpi-client 0.1.2, openpi-server 0.1.0) and its RoboArena dialect, which is
//! recognised by the server's first message. Messages are msgpack maps with numpy arrays in them ([`codec`]).

mod codec;
mod dialect;
mod session;
mod socket;

pub(crate) use session::OpenPiSession;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use {session::read_everywhere, socket::Socket};
