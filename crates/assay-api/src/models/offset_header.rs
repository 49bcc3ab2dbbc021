//! The header with the offset of an upload, as resumable uploads of the IETF and of tus name it.

use axum::http::HeaderName;

/// In a request, the position of the body in the file; in a response, the number of bytes that are durable.
pub(crate) const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
