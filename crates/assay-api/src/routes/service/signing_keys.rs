//! `GET /.well-known/assay-keys.json`: the public keys that sign this service's statements, retired ones included.

use assay_report::attest::PublishedKeys;
use axum::extract::State;

use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Get the public keys that sign statements
///
/// Returns all keys, including retired ones, newest first. `assay attest verify --keys` accepts this document. Needs no
/// key.
#[utoipa::path(
    get, path = "/.well-known/assay-keys.json", operation_id = "signing_keys", tag = "service",
    responses((status = 200, description = "The keys, newest first, in the format of `assay attest verify --keys`", body = ref(schema_of::<PublishedKeys>()),
        example = json!({ "keys": [{
            "keyid": "7f0b5b4f4a63b5a4a8f5a8f1a6d4d1b8f4c8a9e2b6d0c3f7e1a5b9d2c6f0e4a8",
            "algorithm": "ed25519",
            "public_key": "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n",
            "created_at": "2026-01-05T08:00:00Z",
            "retired_at": null,
        }] }))),
)]
pub(in crate::routes) async fn handle(State(app): State<App>) -> Result<Json<PublishedKeys>, ApiError> {
    app.signing_keys.published().map(Json).map_err(|e| ApiError::internal("the published keys", &e))
}
