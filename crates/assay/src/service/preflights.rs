//! Preflights of the service, which run on its engine besides the lanes of jobs.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use assay_api::{IntakeFailure, PreflightFailure, PreflightRequest, Preflights};
use assay_model::{
    AssignedPolicy, DeclaredModel, ErrorChain, Preflight, RuntimeVersion, ServerCall, Sha256Digest, TaskAnswer,
    WorkerTask,
};
use assay_policy::remote::{PolicyServer, ServerEndpoint};
use assay_policy::{IntakeError, IntakeLimits, NoRuntime, PolicyDeclaration, PolicyHome, intake};
use assay_store::{ModelFileError, ModelFiles};
use assay_worker::{Cancel, Engine, PolicyFolder, PolicySource, PreflightJob, SessionError, preflight};

use super::worker_tasks::{NoAnswer, WorkerTasks};

/// The message for clients; the reason is in the operator's log.
pub(crate) const NOT_RUN: &str =
    "this server can't isolate policies, so it does not run uploaded ones; policy servers can be evaluated";

/// The message for clients about models that jails cannot read; the reason is in the operator's log.
const NO_MODELS: &str = "this server can't give models to policies, so only models in the archive can be used";

/// Runs preflights until the service stops.
#[derive(Debug)]
pub(crate) struct EnginePreflights {
    pub(crate) engine: Arc<Engine>,
    /// Limits of archives, from the settings.
    pub(crate) limits: IntakeLimits,
    pub(crate) models: ModelFiles,
    pub(crate) stopping: Cancel,
    /// Workers that do it for a server without lanes.
    pub(super) tasks: WorkerTasks,
}

impl Preflights for EnginePreflights {
    fn run(&self, request: &PreflightRequest) -> Result<Preflight, PreflightFailure> {
        let internal = |error: &dyn Error| PreflightFailure::Broken(ErrorChain(error).to_string());
        let scenario = self.engine.scenario(&request.scenario, request.scenario_digest);
        let scenario = scenario.map_err(|e| internal(&e))?;
        if self.engine.lanes() == 0 {
            let memory_mib = request.archive.as_ref().map_or(0, |_| scenario.budget.memory_mib);
            return self.run_elsewhere(request, memory_mib);
        }
        let work = self.engine.scratch("preflight").map_err(IntakeFailure::Broken)?;
        let (policy, policy_sha256, models) = self.policy(request, &work.path().join("policy"))?;
        let policy_name = request.policy_name.clone();
        let job = PreflightJob { scenario, policy, policy_name, policy_sha256 };
        preflight(&self.engine, &job, &self.stopping).map_err(|error| match error {
            SessionError::Cancelled => PreflightFailure::Stopping,
            // No job keeps the models of a preflight.
            error => match (self.models.resolve(&request.account, &models), error) {
                (Err(ModelFileError::Missing(sha256)), _) => IntakeFailure::MissingModel(sha256).into(),
                // The cause is kept to distinguish a full disk from other failures.
                (_, SessionError::Outage(error)) => IntakeFailure::Broken(io::Error::other(error)).into(),
                (_, other) => internal(&other),
            },
        })
    }
}

impl EnginePreflights {
    /// Lets a worker on another host run the policy.
    fn run_elsewhere(&self, request: &PreflightRequest, memory_mib: u32) -> Result<Preflight, PreflightFailure> {
        let work = self.engine.scratch("preflight").map_err(IntakeFailure::Broken)?;
        let (server, archive) = (work.path().join("server"), request.archive.clone().unwrap_or_default());
        let (policy, input) = match (&request.server, &request.archive) {
            (Some((call, replan_steps)), _) => {
                let call = ServerCall {
                    url: call.url.reveal().to_owned(),
                    api_key: call.api_key.as_ref().map(|key| key.reveal().to_owned()),
                    concurrency: 1,
                };
                let text = serde_json::to_vec(&call).map_err(io::Error::other);
                let written = text.and_then(|text| std::fs::write(&server, text));
                written.map_err(IntakeFailure::Broken)?;
                (AssignedPolicy::Server { replan_steps: *replan_steps }, ("server", server.as_path()))
            }
            (None, Some(_)) => {
                let taken = intake(&archive, &work.path().join("policy"), &self.limits).map_err(refused)?;
                let runtime = Some(runtime(&self.engine, &taken.declaration)?);
                self.models.resolve(&request.account, &taken.models).map_err(|error| match error {
                    ModelFileError::Missing(sha256) => IntakeFailure::MissingModel(sha256),
                    ModelFileError::Io(error) => IntakeFailure::Broken(error),
                })?;
                let (sha256, models) = (taken.sha256, taken.models);
                (AssignedPolicy::Archive { sha256, runtime, models }, ("policy", archive.as_path()))
            }
            (None, None) => return Err(PreflightFailure::Broken("neither archive nor server".to_owned())),
        };
        let task = WorkerTask::Preflight {
            account: request.account.clone(),
            scenario: request.scenario.clone(),
            scenario_digest: request.scenario_digest,
            policy,
            policy_name: request.policy_name.clone(),
            memory_mib,
        };
        match self.tasks.run(&task, &[input], &self.stopping) {
            Ok(TaskAnswer::Tried { preflight }) => Ok(*preflight),
            Ok(_) => Err(PreflightFailure::Broken("a worker answered another task".to_owned())),
            Err(NoAnswer::Unavailable(message)) => Err(PreflightFailure::Unavailable(message)),
            Err(NoAnswer::Cancelled) => Err(PreflightFailure::Stopping),
            Err(error @ NoAnswer::WorkersFailed) => Err(PreflightFailure::Unavailable(error.to_string())),
            Err(NoAnswer::Io(error)) => Err(IntakeFailure::Broken(error).into()),
        }
    }

    /// Returns the source of the policy, its digest if it is an archive, and its models.
    fn policy(
        &self,
        request: &PreflightRequest,
        folder: &Path,
    ) -> Result<(PolicySource, Option<Sha256Digest>, Vec<DeclaredModel>), PreflightFailure> {
        if let Some((call, replan_steps)) = &request.server {
            let endpoint = ServerEndpoint::parse(call.url.reveal());
            let endpoint = endpoint.map_err(|error| PreflightFailure::Broken(error.to_string()))?;
            let server = PolicyServer { endpoint, api_key: call.api_key.clone(), replan_steps: *replan_steps };
            return Ok((PolicySource::Server { server, concurrency: 1 }, None, Vec::new()));
        }
        if self.engine.runs_policies().is_err() {
            return Err(IntakeFailure::NotRun(NOT_RUN).into());
        }
        let archive = request.archive.as_ref();
        let archive = archive.ok_or_else(|| PreflightFailure::Broken("neither archive nor server".to_owned()))?;
        let taken = intake(archive, folder, &self.limits).map_err(refused)?;
        let runtime = Some(runtime(&self.engine, &taken.declaration)?);
        let home = self.home(request, &taken.models)?;
        let policy = PolicyFolder { path: folder.to_owned(), runtime, home };
        Ok((PolicySource::Folder(policy), Some(taken.sha256), taken.models))
    }
}

impl EnginePreflights {
    /// Returns the home of a policy with the models that it declares and that its archive does not contain.
    fn home(&self, request: &PreflightRequest, declared: &[DeclaredModel]) -> Result<PolicyHome, PreflightFailure> {
        models_can_run(&self.engine, &self.models, declared)?;
        let found = self.models.resolve(&request.account, declared).map_err(|error| match error {
            ModelFileError::Missing(sha256) => IntakeFailure::MissingModel(sha256),
            ModelFileError::Io(error) => IntakeFailure::Broken(error),
        })?;
        let home = self.engine.policy_home(&found);
        home.map_err(|error| IntakeFailure::Broken(io::Error::other(error)).into())
    }
}

/// Checks that jails can read the models, if a policy declares any.
pub(crate) fn models_can_run(
    engine: &Engine,
    files: &ModelFiles,
    declared: &[DeclaredModel],
) -> Result<(), IntakeFailure> {
    if declared.is_empty() {
        return Ok(());
    }
    engine.runs_models(files).map_err(|error| {
        tracing::error!(error = %ErrorChain(&error), "refused a policy with models");
        IntakeFailure::NotRun(NO_MODELS)
    })
}

/// Chooses the runtime for a policy; without one, the client learns what is offered.
pub(crate) fn runtime(engine: &Engine, declaration: &PolicyDeclaration) -> Result<RuntimeVersion, IntakeFailure> {
    let refused = |error: NoRuntime| IntakeFailure::Refused { field: "policy", message: error.to_string() };
    engine.runtime_for(declaration).map_err(refused)
}

/// Converts an intake error for the client.
pub(crate) fn refused(error: IntakeError) -> IntakeFailure {
    match error {
        // The error kind is kept to distinguish a full disk from other failures.
        IntakeError::Io { source, .. } => IntakeFailure::Broken(source),
        internal if internal.is_internal() => IntakeFailure::Broken(io::Error::other(internal)),
        refused => IntakeFailure::Refused { field: "policy", message: refused.to_string() },
    }
}
