//! What happens around every handler, outermost first: request id and log (`observe`), the rest of an unread body
//! (`drain`), panics, keys (`auth`) and how often they ask (`rate`), what the table says of the endpoint (`enter`), requests
//! that are done once (`once`); and the one shape of errors (`error`).

mod accept;
mod auth;
mod body;
mod cors;
mod counted;
mod drain;
mod enter;
mod envelope;
mod error;
mod json;
mod observe;
mod once;
pub(crate) mod range;
mod rate;
mod router;
mod steady;
mod unknown_query;

pub(crate) use accept::{takes, takes_coding};
pub(crate) use auth::{Caller, forged, key_of, session_of};
pub(crate) use error::{ApiError, Code, ErrorAnswer, OverLimit};
pub(crate) use json::{Json, json_body, no_body, optional_json_body, read_body};
pub(crate) use once::{KeepInstead, OnceOnly, answer, create_job, submit};
pub use rate::RateWindows;
pub use router::router;
pub(crate) use steady::{is_known, mark, not_modified, tag};
