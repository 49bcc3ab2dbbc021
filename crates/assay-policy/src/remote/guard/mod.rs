//! The address guard keeps addresses that a client supplies from making this machine connect to its own network.
//!
//! One rule for every transport: resolve once, refuse the name if any of its addresses is refused, connect to an
//! address that was judged, check the peer, follow no redirect, and judge again at each reconnect. A client learns only
//! that the server could not be reached, so that the guard cannot serve as a port scanner; the operator's log has the
//! reason.

mod address;
mod dial;
mod port;
mod resolver;

pub use address::{AddressClass, standing};
pub use dial::{AddressGuard, DialError};
pub use port::denied_port;
pub use resolver::{Resolve, Resolver, SystemResolver};
