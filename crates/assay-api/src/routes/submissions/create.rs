//! `POST /submissions`: takes a policy to the arena, answers 201 once it can't be lost.

use assay_model::{
    ArenaEntry, JobHeader, JobId, JobStatus, PUBLIC_SEED, Plan, PolicyIdentity, PolicyKey, Record, SHOWCASE_EPISODES,
    ScenarioId, Secret,
};
use assay_store::{NewJob, Season, SubmitOutcome, Work};
use axum::Extension;
use axum::extract::{OriginalUri, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::http::{self, ApiError, Caller, IdempotencyGuard, Json, OverLimit};
use crate::quota;
use crate::seasons::{open_season, season_not_open};
use crate::state::App;
use crate::upload::{self, StoredPolicy, SubmissionRequest};

/// Confidence level of a submission's bounds.
const CONFIDENCE: f64 = 0.95;
/// Seconds of a day.
const DAY_S: i64 = 24 * 60 * 60;

/// The parts of the form.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only its schema is used; `upload` reads the form")]
pub(in crate::routes) struct SubmissionForm {
    /// Zip archive with `policy.py` at its root.
    #[schema(value_type = String, format = Binary, content_media_type = "application/zip")]
    policy: Vec<u8>,
    /// A scenario's id. `scenario` is another name of this part; with both, the request is refused.
    #[schema(max_length = 4096)]
    scenario_id: String,
    /// 1 to 100 characters, some of which can be seen; the archive's file name if absent.
    #[schema(min_length = 1, max_length = 100, pattern = "[^\\s\\x00-\\x1f\\x7f-\\x9f]", nullable = false)]
    name: Option<String>,
    /// The author's words about it, at most 2000 characters.
    #[schema(max_length = 2000, nullable = false)]
    description: Option<String>,
    /// Where the end of the submission is reported: https:// or http://, see the group `webhooks`. The account needs a
    /// secret (`POST /webhooks/secret`).
    #[schema(max_length = 2048, pattern = "^https?://", nullable = false)]
    callback_url: Option<String>,
}

/// A submission that was accepted.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::routes) struct NewSubmission {
    submission_id: JobId,
    status: JobStatus,
    scenario_id: ScenarioId,
    created_at: Timestamp,
    /// Number of the season.
    season: u32,
}

/// Submit a policy to the arena
///
/// Takes a zip archive with `policy.py`; a policy server cannot be submitted. The season decides worlds, seeds and the
/// number of episodes; without an open season of the scenario the answer is 409. Send an `Idempotency-Key`, and the
/// request can be repeated without a second submission.
#[utoipa::path(
    post, path = "/submissions", operation_id = "submit", tag = "arena",
    request_body(content = SubmissionForm, content_type = "multipart/form-data"),
    responses(
        (status = 201, description = "Accepted; nothing is lost from here on", body = NewSubmission,
            headers(("Location" = String, description = "Where the submission is"))),
        (status = 400), (status = 408), (status = 409), (status = 413), (status = 415), (status = 429),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    OriginalUri(uri): OriginalUri,
    request: Request,
) -> Result<Response, ApiError> {
    let once = IdempotencyGuard::of(&request);
    if once.is_none() {
        // A request that is sent again gets its first answer, whatever the account has by now.
        quota::precheck(&app, &caller).await?;
    }
    let form = upload::receive(&app, &caller, request, upload::SUBMISSION_PARTS).await?;
    let wish = SubmissionRequest::read(&app, &form).await?;
    let (season, scenario) = open_season(&app, &wish.scenario).await?;
    upload::within_archive_budget(&form, &scenario)?;
    let wish = SubmissionRequest { scenario, ..wish };
    fits(&app, &wish, &season).await?;
    let callback_url = upload::callback_url(&app, &caller.key.account, &form).await?;
    let policy = upload::accept(&app, form).await?;
    let id = JobId(app.new_id());
    let place = app.settings.address(&format!("{}/{id}", uri.path().trim_end_matches('/')));
    let archive = Some(policy.path.clone());
    let created = match submit(&app, &caller, (id, &place, once), (wish, callback_url), policy, &season).await {
        Ok(created) => created,
        Err(error) => {
            upload::discard(&app, archive).await;
            return Err(error);
        }
    };
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(created)).into_response())
}

/// A submission has as many episodes as its season says, and the showcase.
async fn fits(app: &App, wish: &SubmissionRequest, season: &Season) -> Result<(), ApiError> {
    let episodes = season.pins.episodes.saturating_add(SHOWCASE_EPISODES);
    let over = quota::over_cpu_budget(app, &wish.scenario, episodes).await?;
    over.map_or(Ok(()), |why| {
        let message = format!("a submission has {episodes} episodes, but {why}");
        Err(ApiError::invalid("scenario_id", Some(wish.scenario.id.as_str()), message))
    })
}

async fn submit(
    app: &App,
    caller: &Caller,
    (job_id, place, once): (JobId, &str, Option<IdempotencyGuard>),
    (wish, callback_url): (SubmissionRequest, Option<Secret>),
    policy: StoredPolicy,
    season: &Season,
) -> Result<NewSubmission, ApiError> {
    let now = app.clock.now();
    let scenario = wish.scenario.clone();
    let header = header(job_id, now, wish, &policy, season);
    let created_at = header.created_at;
    let job = NewJob {
        account: caller.key.account.clone(),
        shard_episodes: app.settings.shard_episodes(header.episodes_to_run()),
        quota: Some(quota::job_quota(app, &scenario, header.episodes_to_run(), policy.size_bytes)),
        policy_path: Some(policy.path.clone()),
        header,
        callback_url,
    };
    let today = now.as_second().div_euclid(DAY_S) * DAY_S;
    let day = Timestamp::from_second(today).unwrap_or(now);
    let daily = app.settings.account.submissions_per_day;
    let created = NewSubmission {
        submission_id: job_id,
        status: JobStatus::Queued,
        scenario_id: season.scenario.clone(),
        created_at,
        season: season.number,
    };
    let early = serde_json::to_vec(&created).map_err(|e| ApiError::internal("a new submission", &e))?;
    let early = || http::stored_response(StatusCode::CREATED, Some(place), &early);
    let shards = match http::submit(app, once.as_ref(), job, (daily, day), early).await? {
        SubmitOutcome::Accepted { shards } => shards,
        SubmitOutcome::NotOpen => return Err(season_not_open(season)),
        SubmitOutcome::TooMany => return Err(too_many(daily, season, day, now)),
    };
    for shard in 0..shards {
        app.queue.publish(Work::Shard { job_id, shard }).await;
    }
    Ok(created)
}

/// The answer to a submission too many of the day that began at `day`.
fn too_many(daily: u32, season: &Season, day: Timestamp, now: Timestamp) -> ApiError {
    let free = day.saturating_add(SignedDuration::from_secs(DAY_S)).unwrap_or(now);
    let most = u64::from(daily);
    let over = OverLimit::until("submissions_per_day", most, most, free);
    let message =
        format!("your account has {daily} submissions to {} today; the next may come at {free}", season.scenario);
    let wait = u64::try_from(free.as_second() - now.as_second()).unwrap_or(1).max(1);
    ApiError::over_limit(&over, message, wait)
}

fn header(id: JobId, now: Timestamp, wish: SubmissionRequest, policy: &StoredPolicy, season: &Season) -> JobHeader {
    let pins = &season.pins;
    JobHeader {
        job_id: id,
        scenario: season.scenario.clone(),
        scenario_version: pins.scenario_version.clone(),
        scenario_digest: pins.scenario_digest.clone(),
        policy_name: wish.name,
        policy_sha256: Some(policy.sha256.clone()),
        policy_identity: PolicyIdentity::Measured,
        replan_steps: None,
        // The showcase's. The others' seeds only the season knows.
        seed: PUBLIC_SEED,
        policy_key: Some(PolicyKey::public()),
        // The showcase gets a video all the same.
        record: Record::None,
        plan: Plan {
            episodes: pins.episodes,
            target: None,
            confidence_level: CONFIDENCE,
            max_violation_probability: pins.max_violation_probability,
        },
        created_at: Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now),
        warnings: policy.warnings.clone(),
        arena: Some(ArenaEntry {
            season: season.number,
            rerun: false,
            max_score: pins.max_score,
            description: wish.description,
        }),
    }
}
