//! `POST /verify`: takes a policy and a scenario, answers 201 with the job once it can't be lost.

use assay_model::{JobHeader, JobId, JobReport, PolicyIdentity, Secret};
use assay_store::{NewJob, Work};
use axum::Extension;
use axum::extract::{OriginalUri, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;

use crate::http::{self, ApiError, Caller, IdempotencyGuard, Json};
use crate::quota;
use crate::routes::present;
use crate::state::App;
use crate::upload::{self, PolicyServerRequest, StoredPolicy, VerifyRequest};

/// The parts of the form.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only its schema is used; `upload` reads the form")]
pub(in crate::routes) struct VerifyForm {
    /// Zip archive with `policy.py` at its root. This or `policy_url` is needed. With both, the archive is evaluated,
    /// the parts about a policy server have no effect, and `warnings` names them.
    #[schema(value_type = Option<String>, format = Binary, content_media_type = "application/zip", nullable = false)]
    policy: Option<Vec<u8>>,
    /// Address of a running policy server, in the place of `policy`: ws://, wss://, http:// or https://.
    #[schema(max_length = 2048, nullable = false)]
    policy_url: Option<String>,
    /// With `policy_url`: the key that the server asks for, printable ASCII. Kept only until the job has run, never
    /// shown.
    #[schema(write_only, format = Password, max_length = 4096, pattern = "^[ -~]*[!-~][ -~]*$", nullable = false)]
    policy_api_key: Option<String>,
    /// With `policy_url`: episodes that may talk to the server at the same time; 1 if absent.
    #[schema(minimum = 1, maximum = 16, nullable = false)]
    policy_concurrency: Option<u32>,
    /// With `policy_url`: actions of an answer of the server that are carried out before it is asked again; if absent,
    /// what the scenario says, or all of them.
    #[schema(minimum = 1, maximum = 1000, nullable = false)]
    replan_steps: Option<u32>,
    /// A scenario's id. `scenario_id` is another name of this part; with both, the request is refused.
    #[schema(max_length = 4096)]
    scenario: String,
    /// If absent, 3, or with `max_violation_probability` as many as the certification needs.
    #[schema(minimum = 1, nullable = false)]
    num_episodes: Option<u32>,
    /// Seed of all episodes: the same seed draws the same worlds; random if absent.
    #[schema(nullable = false)]
    seed: Option<u64>,
    /// Key of the seeds that the policy receives, as a job object has it: 64 hexadecimal digits. If absent, it follows
    /// from `seed`, or is random where there is none.
    #[schema(min_length = 64, max_length = 64, pattern = "^[0-9a-fA-F]{64}$", nullable = false)]
    policy_key: Option<String>,
    /// Certify that violations are rarer than this. Refused where that needs more episodes than a job may have.
    #[schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0, nullable = false)]
    max_violation_probability: Option<f64>,
    /// Confidence level of all bounds; 0.95 if absent.
    #[schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0, nullable = false)]
    confidence_level: Option<f64>,
    /// Which episodes get a log and a video: `all`, `violations` (if absent) or `none`.
    #[schema(nullable = false)]
    record: Option<assay_model::Record>,
    /// 1 to 100 characters, some of which can be seen; the archive's file name if absent.
    #[schema(min_length = 1, max_length = 100, pattern = "[^\\s\\x00-\\x1f\\x7f-\\x9f]", nullable = false)]
    policy_name: Option<String>,
    /// Where the end of the job is reported: https:// or http://, see the group `webhooks`. The account needs a secret
    /// (`POST /webhooks/secret`).
    #[schema(max_length = 2048, pattern = "^https?://", nullable = false)]
    callback_url: Option<String>,
}

/// Verify a policy
///
/// Takes a zip archive with `policy.py`, or the address of a policy server, and queues a job: the policy runs
/// `num_episodes` times in the scenario. What is wrong with the form is named by its part; what is wrong with the
/// policy itself is part of the result. Send an `Idempotency-Key`, and the request can be repeated without a second
/// job.
#[utoipa::path(
    post, path = "/verify", operation_id = "verify", tag = "verify",
    request_body(content = VerifyForm, content_type = "multipart/form-data"),
    responses(
        (status = 201, description = "Accepted; nothing is lost from here on", body = JobReport,
            headers(("Location" = String, description = "Where the job is"))),
        (status = 400), (status = 408), (status = 413), (status = 415),
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
    let form = upload::receive(&app, &caller, request, upload::VERIFY_PARTS).await?;
    let wish = VerifyRequest::read(&app, &form).await?;
    let callback_url = upload::callback_url(&app, &caller.key.account, &form).await?;
    let policy = match wish.server {
        Some(_) => None,
        None => Some(upload::accept(&app, form).await?),
    };
    let job_id = JobId(app.new_id());
    let place = app.settings.address(&format!("{}/{job_id}", uri.path().trim_end_matches('/')));
    let archive = policy.as_ref().map(|policy| policy.path.clone());
    let job = match accept(&app, &caller, (job_id, &place, once), (wish, callback_url), policy).await {
        Ok(job) => job,
        Err(error) => {
            upload::discard(&app, archive).await;
            return Err(error);
        }
    };
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(job)).into_response())
}

/// Without a `policy` the wish has a server.
async fn accept(
    app: &App,
    caller: &Caller,
    (job_id, place, once): (JobId, &str, Option<IdempotencyGuard>),
    (wish, callback_url): (VerifyRequest, Option<Secret>),
    policy: Option<StoredPolicy>,
) -> Result<JobReport, ApiError> {
    let header = header(job_id, app.clock.now(), &wish, policy.as_ref());
    let bytes = policy.as_ref().map_or(0, |policy| policy.size_bytes);
    let job = NewJob {
        account: caller.key.account.clone(),
        shard_episodes: app.settings.shard_episodes(wish.plan.episodes),
        quota: Some(quota::job_quota(app, &wish.scenario, wish.plan.episodes, bytes)),
        policy_path: policy.as_ref().map(|policy| policy.path.clone()),
        header,
        callback_url,
    };
    if let Some(server) = wish.server {
        keep_call(app, job_id, server).await?;
    }
    // Known later: the place in the queue.
    let early = serde_json::to_vec(&JobReport::queued(&job.header)).map_err(|e| ApiError::internal("a new job", &e))?;
    let early = || http::stored_response(StatusCode::CREATED, Some(place), &early);
    let shards = match http::create_job(app, once.as_ref(), job, early).await {
        Ok(shards) => shards,
        Err(error) => {
            // There is no job, so nobody will call it.
            drop(app.servers.remove(job_id));
            return Err(error);
        }
    };
    for shard in 0..shards {
        app.queue.publish(Work::Shard { job_id, shard }).await;
    }
    // Read back, so that the client learns its place in the queue.
    match app.records.job(Some(&caller.key.account), job_id).await? {
        Some(record) => present::job(app, &record, &[]).await,
        None => Err(ApiError::not_found("job")),
    }
}

fn header(job_id: JobId, now: Timestamp, wish: &VerifyRequest, policy: Option<&StoredPolicy>) -> JobHeader {
    let noticed = policy.map_or_else(Vec::new, |policy| policy.warnings.clone());
    JobHeader {
        job_id,
        scenario: wish.scenario.id.clone(),
        scenario_version: wish.scenario.version.clone(),
        scenario_digest: wish.scenario.digest.clone(),
        policy_name: wish.policy_name.clone(),
        policy_sha256: policy.map(|policy| policy.sha256.clone()),
        policy_identity: if policy.is_some() { PolicyIdentity::Measured } else { PolicyIdentity::Declared },
        replan_steps: wish.replan_steps,
        seed: wish.seed,
        policy_key: Some(wish.policy_key.clone()),
        record: wish.record,
        plan: wish.plan,
        created_at: Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now),
        warnings: [wish.warnings.clone(), noticed].concat(),
        arena: None,
    }
}

/// Puts the server's address and key on the disk, before there is a job that needs them.
async fn keep_call(app: &App, job_id: JobId, server: PolicyServerRequest) -> Result<(), ApiError> {
    let call = server.credentials();
    let servers = app.servers.clone();
    let kept = tokio::task::spawn_blocking(move || servers.put(job_id, &call)).await;
    let kept = kept.map_err(|e| ApiError::internal("keeping a call panicked", &e))?;
    kept.map_err(|e| crate::disk::disk_error(app, &e))
}
