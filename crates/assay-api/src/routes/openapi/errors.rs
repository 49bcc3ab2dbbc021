//! The status codes of errors, with their meaning.

/// Each status of an error, and when it comes.
pub(in crate::routes) const ERRORS: [(&str, &str); 17] = [
    ("400", "VALIDATION_ERROR: the request is invalid; `details` names the field and its value"),
    ("401", "UNAUTHORIZED: the key is missing, malformed, unknown, expired or revoked"),
    ("403", "FORBIDDEN: the key lacks the scope that the message names"),
    ("404", "NOT_FOUND: the resource does not exist, or belongs to another account"),
    ("406", "NOT_ACCEPTABLE: the Accept header excludes the response's content type"),
    ("408", "TIMEOUT: the request's body was not received in time"),
    ("409", "CONFLICT: the resource's state, or another request with the same Idempotency-Key, does not allow this"),
    ("410", "GONE: the resource was erased or removed"),
    ("413", "PAYLOAD_TOO_LARGE: the request's body is too large"),
    ("414", "URI_TOO_LONG: the request's target is too long"),
    ("415", "UNSUPPORTED_MEDIA_TYPE: the body has the wrong content type"),
    ("416", "RANGE_NOT_SATISFIABLE: the file has no byte of the range"),
    ("422", "UNPROCESSABLE: a model is missing, or does not have the announced digest"),
    ("429", "RATE_LIMITED: a limit of the key or of its account is reached; `Retry-After` is the delay in seconds"),
    ("431", "HEADERS_TOO_LARGE: the request has too many headers, or they are too large"),
    ("500", "INTERNAL_ERROR: an internal error occurred; include the request id when you report it"),
    ("503", "UNAVAILABLE: the service cannot handle the request now; try again later"),
];
