//! `GET /verify/{job_id}/attestation`: the signed statement, byte for byte.

use assay_report::attest::Envelope;
use assay_store::SignedDocument;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use crate::http::{ApiError, Caller};
use crate::routes::jobs::{ReadAccess, Verification};
use crate::routes::openapi::body::schema_of;
use crate::routes::verify::report::{signed, with_result};
use crate::state::App;

/// Get the signed statement of a verification
///
/// Returns an in-toto statement in a DSSE envelope over the report and every file of evidence. `assay attest verify`
/// checks it offline. Until the job is COMPLETED, the response is 409.
#[utoipa::path(
    get, path = "/verify/{job_id}/attestation", operation_id = "verification_attestation", tag = "verify",
    params(("job_id" = uuid::Uuid, Path, description = "The job's id")),
    responses(
        (status = 200, description = "An in-toto Statement v1 in a DSSE envelope, for `assay attest verify`", body = ref(schema_of::<Envelope>()),
            example = json!({
                "payloadType": "application/vnd.in-toto+json",
                "payload": "eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==",
                "signatures": [{
                    "keyid": "7f0b5b4f4a63b5a4a8f5a8f1a6d4d1b8f4c8a9e2b6d0c3f7e1a5b9d2c6f0e4a8",
                    "sig": "MEUCIQDd0sGm7Yk0cQ3q5Jr4hYx1mJ0e4mM3m0Qx1bK2vJ8fTQ==",
                }],
            })),
        (status = 400), (status = 404), (status = 409), (status = 410),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Verification { record, .. }: Verification<ReadAccess>,
) -> Result<Response, ApiError> {
    let job = with_result(record, "there is a signed statement")?;
    caller.record_access(&app, (&job.account, &job.header.job_id), "read a statement").await?;
    signed(&app, &job, SignedDocument::Statement).await
}
