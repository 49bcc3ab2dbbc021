//! Policies that run as a server elsewhere. The lane speaks frames as with a jailed policy; a relay in this process
//! turns them into the messages of the server's protocol (a folder each: `openpi`, `http`), and its answers back.
//! `docs/adding-a-protocol.md` describes how to add a protocol.
//!
//! Nothing that a server sends is trusted: sizes, shapes, numbers and texts are bounded and checked here, every wait
//! has a deadline, and a fault of the server is a result that names the server, never an internal error. The [`guard`]
//! decides where a connection may go.

mod allowance;
mod array;
mod chunk;
pub(crate) mod connected;
mod endpoint;
mod fault;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
pub mod guard;
mod http;
mod lane_side;
mod limits;
mod log;
mod observation;
mod openpi;
mod policy;
mod post;
mod protocol;
mod redaction;
mod relay;
mod server;
mod server_session;
mod session;
mod silence;
mod transport;
mod websocket;

pub use connected::{
    CallBudget, ConnectedPolicies, ConnectionReservation, FIRST_CONNECTION_WAIT, LinkEnd, LinkHost, RECONNECTION_WAIT,
    ServiceLink, ServiceLinkError, StartFailure,
};
pub use endpoint::{EndpointError, ServerEndpoint};
pub use guard::AddressGuard;
pub use limits::RemoteLimits;
pub use log::AnswerCounts;
pub use policy::{ConnectOutcome, PendingConnection, RemotePolicy, ServerConnector};
pub use post::{check_post, post};
pub use protocol::Protocol;
pub use server::PolicyServer;
