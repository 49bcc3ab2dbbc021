//! Acceptance of verifications.

use assay_model::{JobHeader, JobId, PolicyIdentity, Secret};
use assay_store::PolicyServerAccess;

use super::accept_job::{AcceptedJob, JobDraft, JobOrigin, in_milliseconds};
use crate::disk::disk_error;
use crate::http::ApiError;
use crate::state::App;
use crate::upload::{self, PolicyServerRequest, StoredPolicy, VerifyRequest};
use crate::views::JobView;

/// A verification to accept.
#[derive(Debug)]
pub(crate) struct VerificationToAccept {
    pub(crate) request: VerifyRequest,
    /// The archive; without one the request has a policy server.
    pub(crate) policy: Option<StoredPolicy>,
    pub(crate) callback_url: Option<Secret>,
}

/// Accepts a verification. Returns the job as first reported to its client; its queue position is known later.
///
/// # Errors
/// The account has used up one of its caps, or the job could not be stored.
pub(crate) async fn accept_verification(
    app: &App,
    origin: &JobOrigin,
    new: VerificationToAccept,
) -> Result<AcceptedJob<JobId>, ApiError> {
    let archive = new.policy.as_ref().map(|policy| policy.path.clone());
    let accepted = accept(app, origin, new).await;
    if accepted.is_err() {
        upload::discard(app, archive).await;
    }
    accepted
}

async fn accept(app: &App, origin: &JobOrigin, new: VerificationToAccept) -> Result<AcceptedJob<JobId>, ApiError> {
    let id = JobId(app.new_id());
    let VerificationToAccept { mut request, policy, callback_url } = new;
    let access = request.server.as_ref().map(|server| &server.access);
    let connects = matches!(access, Some(PolicyServerAccess::Connects));
    if let Some(server) = request.server.take() {
        store_credentials(app, id, server).await?;
    }
    let header = header(app, id, &request, policy.as_ref());
    let response = JobView::accepted(&header);
    let draft = JobDraft { scenario: &request.scenario, header, policy: policy.as_ref(), callback_url, connects };
    if let Err(error) = origin.create(app, draft, &response, None).await {
        // Without a job, the credentials are not used.
        drop(app.servers.remove(id));
        return Err(error);
    }
    Ok(AcceptedJob { location: origin.location(app, id), body: id })
}

fn header(app: &App, job_id: JobId, request: &VerifyRequest, policy: Option<&StoredPolicy>) -> JobHeader {
    let found = policy.map_or_else(Vec::new, |policy| policy.warnings.clone());
    JobHeader {
        job_id,
        scenario: request.scenario.id.clone(),
        scenario_version: request.scenario.version.clone(),
        scenario_digest: request.scenario.digest,
        render_profile: request.scenario.render_profile,
        policy_name: request.policy_name.clone(),
        policy_sha256: policy.map(|policy| policy.sha256),
        policy_identity: if policy.is_some() { PolicyIdentity::Measured } else { PolicyIdentity::Declared },
        runtime: policy.map(|policy| policy.runtime.clone()),
        models: policy.map_or_else(Vec::new, |policy| policy.models.clone()),
        replan_steps: request.replan_steps,
        seed: request.seed,
        policy_key: Some(request.policy_key.clone()),
        record: request.record,
        plan: request.plan,
        created_at: in_milliseconds(app.clock.now()),
        warnings: [request.warnings.clone(), found].concat(),
        arena: None,
        labels: request.labels.clone(),
        drawn_ranges: request.scenario.drawn_ranges.clone(),
    }
}

/// Writes the credentials of the policy server to disk before there is a job that needs them.
async fn store_credentials(app: &App, id: JobId, server: PolicyServerRequest) -> Result<(), ApiError> {
    let servers = app.servers.clone();
    let stored = tokio::task::spawn_blocking(move || servers.put(id, &server.access)).await;
    let stored = stored.map_err(|e| ApiError::internal("storing credentials panicked", &e))?;
    stored.map_err(|e| disk_error(app, &e))
}
