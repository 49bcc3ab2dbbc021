//! Preflights of the service: on its engine, beside its lanes.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use assay_api::{IntakeFailure, PreflightFailure, PreflightRequest, Preflights};
use assay_model::{ErrorChain, Preflight, Sha256Digest};
use assay_policy::remote::{PolicyServer, ServerEndpoint};
use assay_policy::{IntakeError, IntakeLimits, intake};
use assay_worker::{Cancel, Engine, PolicySource, PreflightJob, SessionError, preflight};

/// Message for clients; the operator's log has the reason.
pub(crate) const NOT_RUN: &str =
    "this server can't isolate policies, so it does not run uploaded ones; policy servers can be evaluated";

/// Tries policies until the service stops.
#[derive(Debug)]
pub(crate) struct EnginePreflights {
    pub(crate) engine: Arc<Engine>,
    /// Limits of archives, from the settings.
    pub(crate) limits: IntakeLimits,
    pub(crate) stopping: Cancel,
}

impl Preflights for EnginePreflights {
    fn run(&self, request: &PreflightRequest) -> Result<Preflight, PreflightFailure> {
        let ours = |error: &dyn Error| PreflightFailure::Broken(ErrorChain(error).to_string());
        let scenario = self.engine.scenario(&request.scenario, request.scenario_digest);
        let scenario = scenario.map_err(|e| ours(&e))?;
        let work = self.engine.scratch("preflight").map_err(IntakeFailure::Broken)?;
        let (policy, policy_sha256) = self.policy(request, &work.path().join("policy"))?;
        let policy_name = request.policy_name.clone();
        let job = PreflightJob { scenario, policy, policy_name, policy_sha256 };
        preflight(&self.engine, &job, &self.stopping).map_err(|error| match error {
            SessionError::Cancelled => PreflightFailure::Stopping,
            // Its cause tells a full disk from another failure.
            SessionError::Outage(error) => IntakeFailure::Broken(io::Error::other(error)).into(),
            other => ours(&other),
        })
    }
}

impl EnginePreflights {
    /// Where the policy is, and its hash if it is an archive.
    fn policy(
        &self,
        request: &PreflightRequest,
        folder: &Path,
    ) -> Result<(PolicySource, Option<Sha256Digest>), PreflightFailure> {
        if let Some((call, replan_steps)) = &request.server {
            let endpoint = ServerEndpoint::parse(call.url.reveal());
            let endpoint = endpoint.map_err(|error| PreflightFailure::Broken(error.to_string()))?;
            let server = PolicyServer { endpoint, api_key: call.api_key.clone(), replan_steps: *replan_steps };
            return Ok((PolicySource::Server { server, concurrency: 1 }, None));
        }
        if self.engine.runs_policies().is_err() {
            return Err(IntakeFailure::NotRun(NOT_RUN).into());
        }
        let archive = request.archive.as_ref();
        let archive = archive.ok_or_else(|| PreflightFailure::Broken("neither archive nor server".to_owned()))?;
        let taken = intake(archive, folder, &self.limits).map_err(refused)?;
        Ok((PolicySource::Folder(folder.to_owned()), Some(taken.sha256)))
    }
}

/// Converts an intake error for the client.
pub(crate) fn refused(error: IntakeError) -> IntakeFailure {
    match error {
        // Its kind tells a full disk from a failure.
        IntakeError::Io { source, .. } => IntakeFailure::Broken(source),
        ours if ours.is_ours() => IntakeFailure::Broken(io::Error::other(ours)),
        refused => IntakeFailure::Refused { field: "policy", message: refused.to_string() },
    }
}
