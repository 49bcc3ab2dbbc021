//! Policy servers, honest and otherwise: the public openpi server, and servers written with `websockets` and FastAPI.
//! The test plays the lane: it speaks frames over the socket pair and reads what comes back.

#![expect(clippy::unwrap_used, reason = "tests")]

mod dialogue;
mod http;
mod openpi;
mod server;
