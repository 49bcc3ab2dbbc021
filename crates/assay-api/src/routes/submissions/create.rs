//! `POST /submissions`: submits a policy to the arena, and responds with 201 once the submission is stored durably.

use assay_model::{JobId, JobStatus, SHOWCASE_EPISODES, ScenarioId};
use assay_store::Season;
use axum::Extension;
use axum::extract::{OriginalUri, Request, State};
use jiff::Timestamp;
use serde::Serialize;

use crate::acceptance::{AcceptedJob, JobOrigin, SubmissionToAccept, accept_submission};
use crate::http::{ApiError, Caller, IdempotencyGuard};
use crate::quota;
use crate::routes::openapi::body::{never_null, schema_of};
use crate::seasons::open_season;
use crate::state::App;
use crate::upload::{self, SubmissionRequest, UploadForm};

/// The parts of the form.
#[derive(schemars::JsonSchema)]
#[schemars(deny_unknown_fields, transform = never_null)]
#[expect(dead_code, reason = "only its schema is used; `upload` reads the form")]
pub(in crate::routes) struct SubmissionForm {
    /// Zip archive with `policy.py` at its root.
    #[schemars(with = "String", extend("format" = "binary", "contentMediaType" = "application/zip"))]
    policy: Vec<u8>,
    /// Id of a scenario. `scenario` is an alternative name of this part; a request with both is rejected.
    #[schemars(length(max = 4096))]
    scenario_id: String,
    /// Name of the submission: 1 to 100 characters, at least one of them visible; the archive's file name if absent.
    #[schemars(pattern("[^\\s\\x00-\\x1f\\x7f-\\x9f]"), length(min = 1, max = 100))]
    name: Option<String>,
    /// Description by the author, at most 2000 characters.
    #[schemars(length(max = 2000))]
    description: Option<String>,
    /// URL to which the end of the submission is reported: https:// or http://, see the group `webhooks`. The account
    /// needs a webhook secret (`POST /webhooks/secret`).
    #[schemars(pattern("^https?://"), length(max = 2048))]
    callback_url: Option<String>,
}

/// An accepted submission.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct NewSubmission {
    pub(crate) submission_id: JobId,
    status: JobStatus,
    scenario_id: ScenarioId,
    created_at: Timestamp,
    /// Number of the season.
    season: u32,
}

/// Submit a policy to the arena
///
/// Accepts a zip archive with `policy.py`; a policy server cannot be submitted. The season determines the worlds, the
/// seeds and the number of episodes; if the scenario has no open season, the response is 409. With an
/// `Idempotency-Key`, the request can be repeated safely without creating a second submission.
#[utoipa::path(
    post, path = "/submissions", operation_id = "submit", tag = "arena",
    request_body(content = ref(schema_of::<SubmissionForm>()), content_type = "multipart/form-data"),
    responses(
        (status = 201, description = "Accepted, and stored durably", body = ref(schema_of::<NewSubmission>()),
            headers(("Location" = String, description = "URL of the submission"))),
        (status = 400), (status = 408), (status = 409), (status = 413), (status = 415), (status = 422), (status = 429),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    OriginalUri(uri): OriginalUri,
    request: Request,
) -> Result<AcceptedJob<NewSubmission>, ApiError> {
    let origin = JobOrigin::begin(&app, &caller, IdempotencyGuard::of(&request), &uri).await?;
    let form = upload::receive(&app, &caller, request, upload::SUBMISSION_PARTS).await?;
    submit_form(&app, &caller, &origin, form).await
}

/// Accepts a received form as a submission.
///
/// # Errors
/// As `POST /submissions`.
pub(crate) async fn submit_form(
    app: &App,
    caller: &Caller,
    origin: &JobOrigin,
    form: UploadForm,
) -> Result<AcceptedJob<NewSubmission>, ApiError> {
    let request = SubmissionRequest::read(app, &form).await?;
    let (season, scenario) = open_season(app, &request.scenario).await?;
    upload::within_archive_budget(&form, &scenario)?;
    let request = SubmissionRequest { scenario, ..request };
    require_cpu_budget(app, &request, &season).await?;
    let callback_url = upload::callback_url(app, &caller.key.account, &form).await?;
    let policy = upload::accept(app, caller, form).await?;
    let new = SubmissionToAccept { request, season: &season, policy, callback_url };
    let response = |submission_id, created_at| NewSubmission {
        submission_id,
        status: JobStatus::Queued,
        scenario_id: season.scenario.clone(),
        created_at,
        season: season.number,
    };
    accept_submission(app, origin, new, response).await
}

/// Returns an error if the episodes of the season and the showcase exceed the CPU time that a job may use.
async fn require_cpu_budget(app: &App, request: &SubmissionRequest, season: &Season) -> Result<(), ApiError> {
    let episodes = season.pins.episodes.saturating_add(SHOWCASE_EPISODES);
    let over = quota::over_cpu_budget(app, &request.scenario, episodes).await?;
    over.map_or(Ok(()), |why| {
        let message = format!("a submission has {episodes} episodes, but {why}");
        Err(ApiError::invalid("scenario_id", Some(request.scenario.id.as_str()), message))
    })
}
