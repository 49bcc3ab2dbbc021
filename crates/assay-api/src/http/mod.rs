//! What happens around every handler, outermost first: request id and log (`observe`), the rest of an unread body
//! (`drain`), panics, keys (`auth`), acceptable answers (`accept`); and the one shape of errors (`error`).

mod accept;
mod auth;
mod body;
mod drain;
mod envelope;
mod error;
mod json;
mod observe;
pub(crate) mod range;
mod router;

pub(crate) use accept::takes;
pub(crate) use auth::Caller;
pub(crate) use error::{ApiError, Code, ErrorAnswer};
pub(crate) use json::{json_body, named_field, optional_json_body};
pub use router::router;
