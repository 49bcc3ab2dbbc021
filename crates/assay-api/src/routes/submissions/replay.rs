//! `POST /submissions/{id}/replay`: runs an episode again, once the season is closed.

use assay_report::ReplayReport;
use axum::Extension;
use axum::extract::{Path, RawQuery, Request, State};

use crate::http::{ApiError, Caller, Json};
use crate::routes::jobs::{ReadAccess, Submission};
use crate::routes::openapi::body::schema_of;
use crate::routes::submissions::view::{SubmissionRun, released};
use crate::routes::verify::replay::{NewReplay, replay, wish};
use crate::state::App;

/// Replay an episode of a submission
///
/// Runs a recorded episode of the policy again and reports whether every step is bit-identical. Until the season
/// is closed, the response is 403.
#[utoipa::path(
    post, path = "/submissions/{id}/replay", operation_id = "replay_submission", tag = "arena",
    params(
        ("id" = uuid::Uuid, Path, description = "The submission's id"),
        ("run" = inline(Option<SubmissionRun>), Query, description = "`closing` selects the rerun of a top entry on fresh worlds at the season's end; `season` if absent"),
    ),
    request_body(content = ref(schema_of::<NewReplay>()), example = json!({ "episode": 0 })),
    responses(
        (status = 200, description = "The result, as for a verification", body = ref(schema_of::<ReplayReport>())),
        (status = 400), (status = 403), (status = 404), (status = 408), (status = 409), (status = 410), (status = 413), (status = 415),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Json<ReplayReport>, ApiError> {
    let wish = wish(&app, request).await?;
    let run = SubmissionRun::of(query.as_deref())?;
    let Submission { published, .. } = Submission::<ReadAccess>::named(&app, &caller, &id).await?;
    let job = released(&app, published, run, "an episode can be replayed").await?;
    caller.record_access(&app, (&job.account, &job.header.job_id), "replayed an episode of a submission").await?;
    replay(&app, job, wish.episode).await.map(Json)
}
