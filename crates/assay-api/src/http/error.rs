//! The mapping of errors to HTTP: a public message for the client, a private context for the log.

use std::sync::Arc;

use assay_model::{ErrorChain, Sha256Digest};
use assay_store::StoreError;
use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

/// Maximum length of a rejected value in an error, in characters.
const MAX_VALUE_CHARS: usize = 100;

/// The machine-readable code of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    Validation,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    Timeout,
    Conflict,
    Gone,
    PayloadTooLarge,
    RangeNotSatisfiable,
    UriTooLong,
    UnsupportedMediaType,
    Unprocessable,
    HeadersTooLarge,
    RateLimited,
    Internal,
    Unavailable,
}

impl ErrorCode {
    fn status_and_name(self) -> (StatusCode, &'static str) {
        match self {
            Self::Validation => (StatusCode::BAD_REQUEST, "VALIDATION_ERROR"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
            Self::Forbidden => (StatusCode::FORBIDDEN, "FORBIDDEN"),
            Self::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED"),
            Self::NotAcceptable => (StatusCode::NOT_ACCEPTABLE, "NOT_ACCEPTABLE"),
            Self::Timeout => (StatusCode::REQUEST_TIMEOUT, "TIMEOUT"),
            Self::Conflict => (StatusCode::CONFLICT, "CONFLICT"),
            Self::Gone => (StatusCode::GONE, "GONE"),
            Self::RangeNotSatisfiable => (StatusCode::RANGE_NOT_SATISFIABLE, "RANGE_NOT_SATISFIABLE"),
            Self::PayloadTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"),
            Self::UriTooLong => (StatusCode::URI_TOO_LONG, "URI_TOO_LONG"),
            Self::HeadersTooLarge => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "HEADERS_TOO_LARGE"),
            Self::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE"),
            Self::Unprocessable => (StatusCode::UNPROCESSABLE_ENTITY, "UNPROCESSABLE"),
            Self::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
        }
    }
}

/// The body of every error response.
#[derive(schemars::JsonSchema)]
#[schemars(rename = "ErrorAnswer")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ErrorResponse {
    data: (),
    error: ErrorBody,
}

/// Description of an error.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ErrorBody {
    /// Machine-readable code of the error.
    #[schemars(example = &"VALIDATION_ERROR", pattern("^[A-Z_]+$"))]
    code: String,
    /// Message for humans, with a suggested next step.
    message: String,
    /// Present on every VALIDATION_ERROR, and when a limit is reached or exceeded.
    #[schemars(skip_serializing_if = "Option::is_none")]
    details: Option<AnyDetails>,
    /// Id of the request, as in the header `X-Request-Id`.
    request_id: Uuid,
}

/// Details of an error.
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum AnyDetails {
    Field(ErrorDetails),
    Limit(OverLimit),
}

/// A limit that is reached, or that the request would exceed.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct OverLimit {
    /// Name of the limit, such as `jobs_per_day`.
    #[schemars(example = &"jobs_per_day")]
    limit: &'static str,
    /// Maximum that the limit allows.
    maximum: u64,
    /// Amount in use, or in the request.
    current: u64,
    /// Time at which the limit allows more; `null` if unknown.
    frees_at: Option<Timestamp>,
    /// Event after which the limit allows more, in words; `null` if `frees_at` is given.
    #[schemars(example = &"when one of your account's jobs ends")]
    frees_when: Option<&'static str>,
}

impl OverLimit {
    /// Creates the details of a limit that allows more at a known time.
    pub(crate) fn until(limit: &'static str, maximum: u64, current: u64, frees_at: Timestamp) -> Self {
        Self { limit, maximum, current, frees_at: Some(frees_at), frees_when: None }
    }

    /// Creates the details of a limit that allows more after an event.
    pub(crate) fn when(limit: &'static str, maximum: u64, current: u64, frees_when: &'static str) -> Self {
        Self { limit, maximum, current, frees_at: None, frees_when: Some(frees_when) }
    }
}

/// The invalid part of the request.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ErrorDetails {
    /// Name of the invalid part.
    field: String,
    /// Invalid value, truncated; `null` for secrets, files and missing values.
    #[schemars(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// Invalid file, in an archive with a scenario.
    #[schemars(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Invalid key in that file.
    #[schemars(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// An error response. `observe`, which knows the request id, writes the body.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    code: ErrorCode,
    message: String,
    details: Option<Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Marks an error response whose body is not to be replaced by JSON: a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnBody;

impl ApiError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None, headers: Vec::new() }
    }

    /// Creates the error for an invalid `field` with this `value` (`None` for secrets, files and missing values).
    pub(crate) fn invalid(field: &str, value: Option<&str>, message: impl Into<String>) -> Self {
        let value =
            value.map(|v| assay_model::sanitise(v, usize::MAX).chars().take(MAX_VALUE_CHARS).collect::<String>());
        let details = Some(json!({ "field": field, "value": value }));
        Self { details, ..Self::new(ErrorCode::Validation, message) }
    }

    /// Creates the error for an invalid key or session.
    pub(crate) fn unauthorized(message: &str) -> Self {
        let challenge = HeaderValue::from_static("Bearer realm=\"assay\", error=\"invalid_token\"");
        Self::new(ErrorCode::Unauthorized, message).with_header(header::WWW_AUTHENTICATE, challenge)
    }

    /// Adds the position in the file that the field contains.
    pub(crate) fn in_file(mut self, file: &str, key: Option<&str>) -> Self {
        if let Some(details) = &mut self.details {
            details["file"] = json!(file);
            details["key"] = json!(key);
        }
        self
    }

    /// Creates the error for a policy that needs a model which its account has not uploaded. It is the same whether or
    /// not another account has it.
    pub(crate) fn missing_model(sha256: Sha256Digest) -> Self {
        let message = format!(
            "the policy needs a model with the SHA-256 {sha256}, which your account has not uploaded completely: upload \
             it with POST /models first"
        );
        Self::new(ErrorCode::Unprocessable, message)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("there is no such {what}"))
    }

    /// Creates an internal error; `context` is written to the log, not sent to the client.
    pub(crate) fn internal(context: &str, error: &dyn std::error::Error) -> Self {
        tracing::error!(error = %ErrorChain(error), "{context}");
        Self::logged_internal()
    }

    /// Creates an internal error that has already been logged.
    fn logged_internal() -> Self {
        Self::new(ErrorCode::Internal, "an internal error occurred; include the request id when you report it")
    }

    /// Creates a temporary error with a retry delay.
    pub(crate) fn try_again(code: ErrorCode, message: &str, seconds: u64) -> Self {
        Self::new(code, message).with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Creates the error for a limit that is reached, with a retry delay.
    pub(crate) fn over_limit(over: &OverLimit, message: impl Into<String>, seconds: u64) -> Self {
        let error = Self { details: Some(json!(over)), ..Self::new(ErrorCode::RateLimited, message) };
        error.with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Creates the error for a request that exceeds a permanent limit.
    pub(crate) fn too_large(over: &OverLimit, message: impl Into<String>) -> Self {
        Self { details: Some(json!(over)), ..Self::new(ErrorCode::PayloadTooLarge, message) }
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Returns whether the error is the server's fault.
    pub(crate) fn is_server_error(&self) -> bool {
        self.code.status_and_name().0.is_server_error()
    }

    /// Returns the status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        self.code.status_and_name().0
    }

    /// Returns the public message.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the machine-readable code.
    pub(super) fn name(&self) -> &'static str {
        self.code.status_and_name().1
    }

    pub(crate) fn body(&self, request: Uuid) -> Vec<u8> {
        let (_, name) = self.code.status_and_name();
        let mut error = json!({ "code": name, "message": self.message });
        if let Some(details) = &self.details {
            error["details"] = details.clone();
        }
        error["request_id"] = json!(request);
        json!({ "data": null, "error": error }).to_string().into_bytes()
    }

    /// Creates the error for an error response of a library.
    pub(crate) fn from_status(status: StatusCode) -> Self {
        let (code, message) = match status {
            StatusCode::UNAUTHORIZED => (ErrorCode::Unauthorized, "an API key is needed"),
            StatusCode::FORBIDDEN => (ErrorCode::Forbidden, "the key is not authorised for this"),
            StatusCode::NOT_FOUND => (ErrorCode::NotFound, "there is nothing at this path"),
            StatusCode::METHOD_NOT_ALLOWED => (ErrorCode::MethodNotAllowed, "this path does not support this method"),
            StatusCode::REQUEST_TIMEOUT => (ErrorCode::Timeout, "the request took too long"),
            StatusCode::PAYLOAD_TOO_LARGE => (ErrorCode::PayloadTooLarge, "the request's body is too large"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                (ErrorCode::UnsupportedMediaType, "the body has the wrong content type")
            }
            StatusCode::TOO_MANY_REQUESTS => (ErrorCode::RateLimited, "too many requests"),
            StatusCode::SERVICE_UNAVAILABLE => (ErrorCode::Unavailable, "try again later"),
            s if s.is_server_error() => (ErrorCode::Internal, "an internal error occurred"),
            _ => return Self::invalid("request", None, "the request is malformed"),
        };
        Self::new(code, message)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if let StoreError::CapExceeded(over) = error {
            return over.into();
        }
        if let StoreError::MissingModel(sha256) = error {
            return Self::missing_model(sha256);
        }
        if error.is_outage() || matches!(error, StoreError::Closed) {
            error.log("the records are unavailable");
            let retry = (header::RETRY_AFTER, HeaderValue::from_static("1"));
            return Self::new(ErrorCode::Unavailable, "the service is temporarily unavailable; try again")
                .with_header(retry.0, retry.1);
        }
        error.log("the records failed");
        Self::logged_internal()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.code.status_and_name().0.into_response();
        response.headers_mut().extend(self.headers.iter().cloned());
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use assay_store::DatabaseProblem;

    use super::*;

    #[test]
    fn a_database_that_cannot_work_is_unavailable_and_a_failed_statement_is_internal() {
        let status = |problem| {
            let source = Arc::new(io::Error::from(io::ErrorKind::PermissionDenied));
            let error = ApiError::from(StoreError::Database { doing: "writing", problem, source });
            error.code.status_and_name().0
        };
        for problem in [DatabaseProblem::Busy, DatabaseProblem::DiskFull, DatabaseProblem::Unavailable] {
            assert_eq!(status(problem), StatusCode::SERVICE_UNAVAILABLE, "{problem:?}");
        }
        assert_eq!(status(DatabaseProblem::Statement), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
