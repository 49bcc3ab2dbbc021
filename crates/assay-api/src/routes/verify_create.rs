//! `POST /verify`: takes a policy and a scenario, answers 201 with the job once it can't be lost.

use assay_model::{JobHeader, JobId, JobReport, PolicyIdentity};
use assay_store::{NewJob, Work};
use axum::extract::{OriginalUri, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use jiff::Timestamp;

use super::present;
use crate::http::{ApiError, Caller};
use crate::state::App;
use crate::upload::{self, KeptPolicy, VerifyRequest};

pub(super) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    OriginalUri(uri): OriginalUri,
    request: Request,
) -> Result<Response, ApiError> {
    let form = upload::receive(&app, request).await?;
    let wish = VerifyRequest::read(&app, &form)?;
    let policy = upload::accept(&app, form).await?;
    let job = accept(&app, &caller, wish, policy).await?;
    let place = app.settings.address(&format!("{}/{}", uri.path().trim_end_matches('/'), job.job_id));
    let mut response = (StatusCode::CREATED, Json(job)).into_response();
    if let Ok(value) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    Ok(response)
}

async fn accept(app: &App, caller: &Caller, wish: VerifyRequest, policy: KeptPolicy) -> Result<JobReport, ApiError> {
    let job_id = JobId(app.new_id());
    let now = app.clock.now();
    let job = NewJob {
        account: caller.account.clone(),
        shard_episodes: app.settings.shard_episodes(wish.plan.episodes),
        policy_path: Some(policy.path),
        header: JobHeader {
            job_id,
            scenario: wish.scenario.id.clone(),
            scenario_version: wish.scenario.version.clone(),
            scenario_digest: wish.scenario.digest.clone(),
            policy_name: wish.policy_name,
            policy_sha256: Some(policy.sha256),
            policy_identity: PolicyIdentity::Measured,
            seed: wish.seed,
            record: wish.record,
            plan: wish.plan,
            created_at: Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now),
            warnings: [wish.warnings, policy.warnings].concat(),
        },
    };
    let shards = app.records.create_job(job).await?;
    for shard in 0..shards {
        app.queue.publish(Work::Shard { job_id, shard }).await;
    }
    // Read back, so that the client learns its place in the queue.
    match app.records.job(Some(&caller.account), job_id).await? {
        Some(record) => Ok(present::job(&record, &[])),
        None => Err(ApiError::not_found("job")),
    }
}
