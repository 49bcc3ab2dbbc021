//! `POST /verify/{job_id}/replay`: runs an episode again on this machine and compares it with its recording bit for
//! bit. The response waits for the result. An account has one replay at a time, for a limited time, and nothing of it
//! is stored.

use assay_report::ReplayReport;
use assay_store::JobRecord;
use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, header};
use serde::Deserialize;

use crate::ReplayFailure;
use crate::http::{ApiError, Caller, ErrorCode, Json, optional_json_body, read_body};
use crate::routes::erased;
use crate::routes::jobs::{ReadAccess, Verification};
use crate::routes::openapi::body::schema_of;
use crate::routes::verify::report::with_result;
use crate::state::App;

/// Retry delay in seconds while another replay is running.
const RETRY_S: HeaderValue = HeaderValue::from_static("10");

/// The episode to replay.
#[derive(Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct NewReplay {
    /// Number of the episode; 0 if absent.
    #[serde(default)]
    pub(in crate::routes) episode: u32,
}

/// Replay an episode of a verification
///
/// Runs a recorded episode of the policy again and reports whether every step is bit-identical; if not, the
/// first difference. The response takes up to two minutes. An account can run one replay at a time (503 for another).
/// Episodes that ran on a policy server cannot be replayed (409).
#[utoipa::path(
    post, path = "/verify/{job_id}/replay", operation_id = "replay_verification", tag = "verify",
    params(("job_id" = uuid::Uuid, Path, description = "The job's id")),
    request_body(content = ref(schema_of::<NewReplay>()), example = json!({ "episode": 0 })),
    responses(
        (status = 200, description = "The result. `same` is true if every state and action is bit-identical. \
            Otherwise, `difference` names the first step and quantity that differ, and `cause` the reason: `policy` \
            means that the policy is not deterministic",
            body = ref(schema_of::<ReplayReport>())),
        (status = 400), (status = 404), (status = 408), (status = 409), (status = 410), (status = 413), (status = 415),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<ReplayReport>, ApiError> {
    let wish = wish(&app, request).await?;
    replay_verification(&app, &caller, &id, wish.episode).await.map(Json)
}

/// Replays an episode of the verification with this id.
pub(crate) async fn replay_verification(
    app: &App,
    caller: &Caller,
    id: &str,
    episode: u32,
) -> Result<ReplayReport, ApiError> {
    let Verification { record, .. } = Verification::<ReadAccess>::named(app, caller, id).await?;
    let job = with_result(record, "an episode can be replayed")?;
    caller.record_access(app, (&job.account, &job.header.job_id), "replayed an episode").await?;
    replay(app, job, episode).await
}

pub(in crate::routes) async fn wish(app: &App, request: Request) -> Result<NewReplay, ApiError> {
    optional_json_body(app, request).await?.map_or_else(|| Ok(NewReplay::default()), |body| read_body(&body, false))
}

/// Replays an episode of the job.
pub(in crate::routes) async fn replay(app: &App, job: JobRecord, episode: u32) -> Result<ReplayReport, ApiError> {
    let removed = job.removed;
    if let Some(at) = removed.evidence_at.or(removed.policy_at) {
        return Err(erased::gone("the recording or the policy, which a replay needs, was removed", at));
    }
    let mut found = app.records.episodes(job.header.job_id, episode, 1).await?;
    let Some(recorded) = found.pop().filter(|found| found.episode == episode) else {
        let message = format!("the job has no episode {episode}");
        return Err(ApiError::invalid("episode", Some(&episode.to_string()), message));
    };
    app.replayer.replay(job, recorded).await.map_err(|failure| match failure {
        ReplayFailure::Refused(message) => ApiError::new(ErrorCode::Conflict, message),
        ReplayFailure::Unavailable(message) => {
            ApiError::new(ErrorCode::Unavailable, message).with_header(header::RETRY_AFTER, RETRY_S)
        }
        ReplayFailure::Broken(error) => ApiError::internal("a replay", &*error),
    })
}
