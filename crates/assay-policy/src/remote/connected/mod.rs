//! Policies that connect to the service themselves, because nothing can connect to them: the frame protocol over a
//! WebSocket, one frame per message. `docs/frame-protocol.md` describes it.
//!
//! [`ConnectedPolicies`] holds the connections of running jobs; `ConnectedSession` is an episode over one of them;
//! [`ServiceLink`] is the other side, which `assay connect` uses.

mod call_budget;
mod dial;
mod frame_socket;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod limits;
mod link;
mod link_error;
mod parked;
mod registry;
mod session;

pub use call_budget::CallBudget;
pub(crate) use limits::ConnectionWaits;
pub use limits::{FIRST_CONNECTION_WAIT, RECONNECTION_WAIT};
pub use link::{LinkEnd, LinkHost, ServiceLink, StartFailure};
pub use link_error::ServiceLinkError;
pub(crate) use registry::NotTaken;
pub use registry::{ConnectedPolicies, ConnectionReservation};
pub(crate) use session::ConnectedSession;
