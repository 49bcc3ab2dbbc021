//! The steps that the acceptance of verifications and submissions share.

use assay_model::{AccountId, JobHeader, JobId, ScenarioCard, Secret};
use assay_scenario::Budget;
use assay_store::{JobDemands, NewJob, SubmitOutcome, Work};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::{ApiError, Caller, IdempotencyGuard, Json, stored_response};
use crate::links;
use crate::quota;
use crate::state::App;
use crate::upload::StoredPolicy;

/// The request that a job comes from.
pub(crate) struct JobOrigin {
    account: AccountId,
    /// Path of the endpoint, under which the job's resource is created.
    path: String,
    guard: Option<IdempotencyGuard>,
}

/// The parts of a new job that depend on its kind.
#[derive(Debug)]
pub(super) struct JobDraft<'a> {
    pub(super) scenario: &'a ScenarioCard,
    pub(super) header: JobHeader,
    /// The archive; `None` if the policy is a server.
    pub(super) policy: Option<&'a StoredPolicy>,
    pub(super) callback_url: Option<Secret>,
    /// True if the policy connects to this server.
    pub(super) connects: bool,
}

/// The number of submissions that an account may make since a point in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct DailyLimit {
    pub(super) submissions: u32,
    pub(super) since: Timestamp,
}

/// The response about an accepted job: 201 with its location.
#[derive(Debug)]
pub(crate) struct AcceptedJob<T> {
    pub(super) location: String,
    pub(crate) body: T,
}

impl<T> AcceptedJob<T> {
    /// Replaces the body.
    pub(crate) fn with_body<U>(self, body: U) -> AcceptedJob<U> {
        AcceptedJob { location: self.location, body }
    }
}

impl<T: Serialize> IntoResponse for AcceptedJob<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, [(header::LOCATION, self.location)], Json(self.body)).into_response()
    }
}

impl JobOrigin {
    /// Prepares the acceptance before the body is read, with the `guard` of the request and the `uri` that the client
    /// sent.
    ///
    /// # Errors
    /// The caller's account has used up one of its caps.
    pub(crate) async fn begin(
        app: &App,
        caller: &Caller,
        guard: Option<IdempotencyGuard>,
        uri: &Uri,
    ) -> Result<Self, ApiError> {
        if guard.is_none() {
            // A repeated request gets its stored response, whatever the account has used up meanwhile.
            quota::precheck(app, caller).await?;
        }
        let path = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { account: caller.key.account.clone(), path, guard })
    }

    /// Returns the URL of a new job.
    pub(super) fn location(&self, app: &App, id: JobId) -> String {
        links::address(&app.settings, &format!("{}/{id}", self.path))
    }

    /// Creates the job and publishes its shards. With an idempotency key, `response` is stored in the same transaction.
    pub(super) async fn create(
        &self,
        app: &App,
        draft: JobDraft<'_>,
        response: &impl Serialize,
        limit: Option<DailyLimit>,
    ) -> Result<SubmitOutcome, ApiError> {
        let id = draft.header.job_id;
        let job = draft.into_job(app, &self.account);
        let outcome = match &self.guard {
            Some(guard) => {
                let body = serde_json::to_vec(response).map_err(|e| ApiError::internal("a new job", &e))?;
                let stored = stored_response(StatusCode::CREATED, Some(&self.location(app, id)), &body);
                match limit {
                    Some(limit) => guard.submit(job, (limit.submissions, limit.since), stored).await?,
                    None => SubmitOutcome::Accepted { shards: guard.create_job(job, stored).await? },
                }
            }
            None => match limit {
                Some(limit) => app.records.submit(job, limit.submissions, limit.since).await?,
                None => SubmitOutcome::Accepted { shards: app.records.create_job(job).await? },
            },
        };
        if let SubmitOutcome::Accepted { shards } = &outcome {
            for shard in 0..*shards {
                app.queue.publish(Work::Shard { job_id: id, shard }).await;
            }
        }
        Ok(outcome)
    }
}

impl JobDraft<'_> {
    fn into_job(self, app: &App, account: &AccountId) -> NewJob {
        let Self { scenario, header, policy, callback_url, connects } = self;
        // A published scenario's own value would have to be read from its files.
        let spec = app.catalog.spec(&header.scenario);
        let memory_mib = spec.map_or(*Budget::MEMORY_MIB.end(), |spec| spec.budget.memory_mib);
        let archive_bytes = policy.map_or(0, |policy| policy.size_bytes);
        NewJob {
            account: account.clone(),
            shard_episodes: app.settings.shard_episodes(header.episodes_to_run(), app.worker_fleet.lanes()),
            quota: Some(quota::job_quota(app, scenario, header.episodes_to_run(), archive_bytes)),
            policy_path: policy.map(|policy| policy.path.clone()),
            demands: JobDemands { memory_mib, connects },
            header,
            callback_url,
        }
    }
}

/// Returns the time truncated to milliseconds, as job headers contain it.
pub(super) fn in_milliseconds(now: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
