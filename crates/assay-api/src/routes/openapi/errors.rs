//! The status codes of errors, with their meaning.

/// Each status of an error, and when it comes.
pub(in crate::routes) const ERRORS: [(&str, &str); 14] = [
    ("400", "VALIDATION_ERROR: the request is not well-formed; `details` names the field and its value"),
    ("401", "UNAUTHORIZED: the key is missing, malformed, unknown, expired or revoked"),
    ("403", "FORBIDDEN: the key lacks the scope that the message names"),
    ("404", "NOT_FOUND: there is no such thing, or it is another account's"),
    ("406", "NOT_ACCEPTABLE: the Accept header excludes what would be answered"),
    ("408", "TIMEOUT: the request's body did not come in time"),
    ("409", "CONFLICT: its state, or another request with the same Idempotency-Key, does not allow this"),
    ("410", "GONE: it was erased"),
    ("413", "PAYLOAD_TOO_LARGE: the request's body is too large"),
    ("415", "UNSUPPORTED_MEDIA_TYPE: the body has the wrong content type"),
    ("416", "RANGE_NOT_SATISFIABLE: the file has no byte of the range"),
    ("429", "RATE_LIMITED: too often, or one's other one has not ended; `Retry-After` says when to try again"),
    ("500", "INTERNAL_ERROR: a fault of the service; give the request id when you report it"),
    ("503", "UNAVAILABLE: not now; try again"),
];
