//! The layers around every handler, outermost first: request id and log (`observe`), draining of unread bodies
//! (`drain`), panics, authentication (`auth`), rate limits (`rate`), the endpoint's policy (`endpoint_policy`), and
//! idempotency keys (`idempotency`); and the shape of all errors (`error`).

mod accept;
mod auth;
mod body;
mod cacheable;
mod caller;
mod cors;
mod count_operation;
mod drain;
mod endpoint_policy;
mod envelope;
mod error;
mod foreign_access;
mod idempotency;
mod json;
mod observe;
pub(crate) mod range;
mod rate;
mod request_metrics;
mod router;
mod unknown_query;

pub(crate) use accept::{accepts, accepts_encoding};
pub(crate) use auth::{authenticate_key, authenticate_session, csrf_rejection, identify};
pub(crate) use cacheable::{etag_matches, not_modified, set_etag, tag};
pub(crate) use caller::Caller;
pub(crate) use count_operation::count_operation;
pub(crate) use error::{ApiError, ErrorCode, ErrorResponse, OverLimit, OwnBody};
pub(crate) use idempotency::{IdempotencyGuard, RedactedBody, stored_response};
pub(crate) use json::{Json, json_body, no_body, optional_json_body, read_body};
pub use rate::RateWindows;
pub use router::router;
