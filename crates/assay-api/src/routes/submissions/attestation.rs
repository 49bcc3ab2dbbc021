//! `GET /submissions/{id}/attestation`: the signed statement, once the season is closed; before that its hash, as a
//! binding commitment to it.

use assay_model::{JobId, Sha256Digest};
use assay_report::attest::Envelope;
use assay_store::SignedDocument;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::http::{ApiError, Caller, Json};
use crate::routes::jobs::{ReleasedAccess, Submission};
use crate::routes::openapi::body::schema_of;
use crate::routes::submissions::view::{SubmissionRun, released};
use crate::routes::verify::report::{signed, signed_text, with_result};
use crate::state::App;

/// Completes the error message about a missing statement.
const THERE_IS_ONE: &str = "there is a signed statement";

/// A commitment to a statement that is not public yet.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct Commitment {
    submission_id: JobId,
    season: u32,
    /// SHA-256 of the season's secret, hexadecimal.
    season_commitment: Sha256Digest,
    /// SHA-256 of the signed statement, hexadecimal. The statement contains the hash of every file of evidence.
    statement_sha256: Sha256Digest,
}

/// A commitment while the season is open; the statement itself once it is closed.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
#[schemars(rename = "SubmissionAttestation")]
#[serde(untagged)]
pub(in crate::routes) enum Attestation {
    Open(Commitment),
    Closed(Envelope),
}

/// Get the signed statement of a submission
///
/// Returns an in-toto statement in a DSSE envelope over the report and every file of evidence, once the season is
/// closed. While the season is open, returns a commitment: the SHA-256 of the statement and of the season's secret.
#[utoipa::path(
    get, path = "/submissions/{id}/attestation", operation_id = "submission_attestation", tag = "arena",
    params(
        ("id" = uuid::Uuid, Path, description = "The submission's id"),
        ("run" = inline(Option<SubmissionRun>), Query, description = "`closing` selects the rerun of a top entry on fresh worlds at the season's end; `season` if absent"),
    ),
    responses(
        (status = 200, description = "A commitment while the season is open; then an in-toto Statement v1 in a DSSE \
            envelope", body = ref(schema_of::<Attestation>())),
        (status = 400), (status = 403), (status = 404), (status = 409), (status = 410),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Submission { published, .. }: Submission<ReleasedAccess>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let run = SubmissionRun::of(query.as_deref())?;
    if run == SubmissionRun::Closing {
        let job = released(&app, published, run, THERE_IS_ONE).await?;
        return signed(&app, &job, SignedDocument::Statement).await;
    }
    let is_open = published.is_open();
    if is_open {
        let job = published.record();
        caller.record_access(&app, (&job.account, &job.header.job_id), "read the commitment to a statement").await?;
    }
    let job = with_result(published.into_record(), THERE_IS_ONE)?;
    if !is_open {
        return signed(&app, &job, SignedDocument::Statement).await;
    }
    let header = &job.header;
    let number = header.arena.as_ref().map_or(0, |entry| entry.season);
    let season = app.records.season(&header.scenario, Some(number)).await?;
    let season = season.ok_or_else(|| ApiError::not_found("season"))?;
    let statement = signed_text(&app, &job, SignedDocument::Statement).await?;
    let commitment = Commitment {
        submission_id: header.job_id,
        season: number,
        season_commitment: season.commitment,
        statement_sha256: Sha256Digest::of(&statement),
    };
    Ok(Json(commitment).into_response())
}
