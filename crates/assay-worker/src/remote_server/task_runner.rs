//! Does tasks that a client of the server waits for, one at a time, besides the lanes: replays, preflights, checks of
//! scenarios before they are published.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::{
    AssignedEpisode, AssignedPolicy, EpisodeResult, ErrorChain, LeasedTask, Record, ScenarioId, Secret, SeedSource,
    ServerCall, Sha256Digest, TaskAnswer, TaskClaimAnswer, TaskClaimRequest, WorkerTask, to_hex,
};
use assay_policy::remote::{PolicyServer, ServerEndpoint};
use assay_policy::{IntakeLimits, intake};
use assay_scenario::Scenario;
use assay_store::ScenarioFiles;

use super::client::ProtocolClient;
use super::error::ServerCallError;
use super::http_dispatch::HttpDispatch;
use super::inputs;
use super::task_leases::TaskLeases;
use crate::shards::intervals::CLAIM_WAIT;
use crate::{
    Cancel, Engine, EvaluationEvents, ExamineError, Job, PolicyFolder, PolicySource, PreflightJob, PublishCheck,
    ReplayError, ReplayOptions, SERVED_REPLAY, SessionError, preflight, publish_check, replay,
};

/// Pause after a request that failed.
const PAUSE: Duration = Duration::from_secs(10);
/// Maximum length of an archive or a recording, in bytes; operators may allow less.
const MAX_FILE: u64 = 16 << 30;
/// Status of the answer of a server that gives no tasks to workers.
const NOT_FOUND: u16 = 404;

/// Does tasks.
#[derive(Debug)]
pub(super) struct TaskRunner {
    pub(super) engine: Arc<Engine>,
    pub(super) client: Arc<ProtocolClient>,
    /// Provides the models from the cache.
    pub(super) dispatch: Arc<HttpDispatch>,
    pub(super) scenarios: ScenarioFiles,
    pub(super) held: Arc<TaskLeases>,
    /// Set when no new work is accepted.
    pub(super) stopping: Cancel,
}

/// Discards all events.
#[derive(Debug)]
struct NoReplayEvents;

impl EvaluationEvents for NoReplayEvents {
    fn progress(&self, _episode: u32, _step: u32, _of: u32) {}

    fn finished(&self, _result: &EpisodeResult) {}
}

/// The reason why a task has no answer: it goes back to the queue.
#[derive(Debug, thiserror::Error)]
enum NotAnswered {
    #[error(transparent)]
    Server(#[from] ServerCallError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("could not read or write a file")]
    Io(#[from] std::io::Error),
}

impl TaskRunner {
    /// Does tasks until the worker stops.
    pub(super) fn run(&self) {
        while !self.stopping.is_cancelled() {
            match self.next() {
                Ok(Some((leased, cancel))) => {
                    self.process(&leased, &cancel);
                    self.held.remove(&leased.lease);
                    self.dispatch.task_ended(&leased.lease);
                }
                Ok(None) => {}
                Err(ServerCallError::Answer { status: NOT_FOUND, .. }) => {
                    tracing::debug!("the server is older, and gives no tasks to workers");
                    self.held.sleep(CLAIM_WAIT);
                }
                Err(error) => {
                    tracing::debug!(error = %ErrorChain(&error), "could not ask for a task");
                    self.held.sleep(PAUSE);
                }
            }
        }
    }

    fn next(&self) -> Result<Option<(LeasedTask, Cancel)>, ServerCallError> {
        let wait_s = u32::try_from(CLAIM_WAIT.as_secs()).unwrap_or_default();
        let unwanted = |client: &ProtocolClient, answer: TaskClaimAnswer| {
            if let Some(leased) = answer.task {
                drop(client.send(&format!("/tasks/{}/return", leased.lease), &()));
            }
        };
        let answer = self.held.ask("/tasks/claim", TaskClaimRequest { wait_s }, unwanted)?;
        Ok(answer.and_then(|answer| answer.task).map(|leased| {
            let cancel = self.held.add(&leased.lease, Instant::now());
            (leased, cancel)
        }))
    }

    fn process(&self, leased: &LeasedTask, cancel: &Cancel) {
        let path = format!("/tasks/{}", leased.lease);
        match self.answer(&path, leased, cancel) {
            Ok(answer) => {
                if let TaskAnswer::Broken { message } = &answer {
                    tracing::error!(message, "a task failed");
                }
                if let Err(error) = self.client.send(&format!("{path}/answer"), &answer) {
                    tracing::warn!(error = %ErrorChain(&error), "could not answer a task");
                }
            }
            Err(error) => {
                if !cancel.is_cancelled() {
                    tracing::warn!(error = %ErrorChain(&error), "a task is given back");
                }
                drop(self.client.send(&format!("{path}/return"), &()));
            }
        }
    }

    fn answer(&self, path: &str, leased: &LeasedTask, cancel: &Cancel) -> Result<TaskAnswer, NotAnswered> {
        match &leased.task {
            WorkerTask::Replay { scenario, scenario_digest, policy, seeds, is_arena, result, .. } => {
                let scenario = self.scenario(path, (scenario, *scenario_digest))?;
                let how = (*seeds, *is_arena, &**result);
                self.replay((path, &leased.lease), scenario, policy, how, cancel)
            }
            WorkerTask::Preflight { scenario, scenario_digest, policy, policy_name, .. } => {
                let scenario = self.scenario(path, (scenario, *scenario_digest))?;
                self.preflight((path, &leased.lease), scenario, (policy, policy_name), cancel)
            }
            WorkerTask::Publication { account, scenario_digest } => {
                let work = self.engine.scratch("publication")?;
                inputs::download((&self.client, path), work.path())?;
                let (folder, robots) = (work.path().join("scenario"), work.path().join("robots"));
                std::fs::create_dir_all(&robots)?;
                let draft = Scenario::load(&folder, &robots).and_then(|scenario| scenario.published_by(account));
                Ok(match draft {
                    Ok(draft) if draft.digest == *scenario_digest => check(&self.engine, &draft),
                    Ok(_) => broken("the server reads the scenario differently: install the same release on both"),
                    Err(error) => broken(&ErrorChain(&error).to_string()),
                })
            }
        }
    }

    fn scenario(&self, path: &str, version: (&ScenarioId, Sha256Digest)) -> Result<Arc<Scenario>, SessionError> {
        inputs::scenario(&self.engine, &self.scenarios, (&self.client, path), version)
    }

    /// Fetches and unpacks the policy of a task into `work`.
    fn policy(
        &self,
        (path, lease): (&str, &str),
        policy: &AssignedPolicy,
        work: &Path,
    ) -> Result<Result<PolicySource, String>, NotAnswered> {
        match policy {
            AssignedPolicy::Archive { sha256, runtime, models } => {
                let (zip, unpacked) = (work.join("policy.zip"), work.join("policy"));
                self.client.fetch(&format!("{path}/policy"), (*sha256, MAX_FILE), &zip)?;
                if let Err(error) = intake(&zip, &unpacked, &IntakeLimits::accepted()) {
                    return Ok(Err(ErrorChain(&error).to_string()));
                }
                self.dispatch.task_runtime((path, lease), runtime.as_ref())?;
                let models = self.dispatch.task_models((path, lease), models)?;
                let home = self.engine.policy_home(&models);
                Ok(home
                    .map_err(|error| ErrorChain(&error).to_string())
                    .map(|home| PolicySource::Folder(PolicyFolder { path: unpacked, runtime: runtime.clone(), home })))
            }
            AssignedPolicy::Server { replan_steps } => {
                let call: ServerCall = self.client.get(&format!("{path}/server"))?;
                let endpoint = ServerEndpoint::parse(&call.url).map_err(|error| ErrorChain(&error).to_string());
                Ok(endpoint.map(|endpoint| {
                    let api_key = call.api_key.map(Secret::new);
                    let server = PolicyServer { endpoint, api_key, replan_steps: *replan_steps };
                    PolicySource::Server { server, concurrency: 1 }
                }))
            }
        }
    }

    fn replay(
        &self,
        lease: (&str, &str),
        scenario: Arc<Scenario>,
        policy: &AssignedPolicy,
        (seeds, is_arena, result): (AssignedEpisode, bool, &EpisodeResult),
        cancel: &Cancel,
    ) -> Result<TaskAnswer, NotAnswered> {
        let work = self.engine.scratch("replayed")?;
        let policy = match self.policy(lease, policy, work.path())? {
            Ok(policy) => policy,
            Err(message) => return Ok(broken(&message)),
        };
        let recorded = result.evidence.iter().find(|file| file.name.ends_with(assay_model::lane::files::TRACE));
        let Some(recorded) = recorded else { return Ok(broken("the result has no recording")) };
        let recording = work.path().join(assay_model::lane::files::TRACE);
        self.client.fetch(&format!("{}/recording", lease.0), (recorded.sha256, MAX_FILE), &recording)?;
        let episodes = [(seeds.episode, seeds)].into_iter().collect();
        let job = Job {
            scenario,
            policy,
            seeds: SeedSource::Assigned { episodes, is_arena },
            record: Record::None,
            folder: None,
            max_episode_bytes: 0,
            max_observation_bytes: None,
        };
        let options = ReplayOptions { cancel, work_limit: Some(SERVED_REPLAY) };
        match replay(&self.engine, job, result, &recording, options, &NoReplayEvents) {
            Ok(done) => Ok(TaskAnswer::Replayed {
                trace_hash: done.result.trace_hash,
                comparison: done.comparison,
                machine: Box::new(self.engine.fingerprint().clone()),
            }),
            Err(ReplayError::Session(error @ (SessionError::Cancelled | SessionError::Outage(_)))) => Err(error.into()),
            Err(ReplayError::Unreadable(message)) => Ok(TaskAnswer::Refused { message }),
            Err(ReplayError::Session(SessionError::OverWorkLimit)) => {
                let limit = SERVED_REPLAY.as_secs();
                let message = format!(
                    "the replay takes longer than {limit} s of CPU time and of the policy's sleep; run `assay replay` on \
                     the downloaded evidence"
                );
                Ok(TaskAnswer::Refused { message })
            }
            Err(error) => Ok(broken(&ErrorChain(&error).to_string())),
        }
    }

    fn preflight(
        &self,
        lease: (&str, &str),
        scenario: Arc<Scenario>,
        (policy, policy_name): (&AssignedPolicy, &str),
        cancel: &Cancel,
    ) -> Result<TaskAnswer, NotAnswered> {
        let work = self.engine.scratch("preflight")?;
        let policy_sha256 = match policy {
            AssignedPolicy::Archive { sha256, .. } => Some(*sha256),
            AssignedPolicy::Server { .. } => None,
        };
        let policy = match self.policy(lease, policy, work.path())? {
            Ok(policy) => policy,
            Err(message) => return Ok(broken(&message)),
        };
        let job = PreflightJob { scenario, policy, policy_name: policy_name.to_owned(), policy_sha256 };
        match preflight(&self.engine, &job, cancel) {
            Ok(found) => Ok(TaskAnswer::Tried { preflight: Box::new(found) }),
            Err(error @ (SessionError::Cancelled | SessionError::Outage(_))) => Err(error.into()),
            Err(error) => Ok(broken(&ErrorChain(&error).to_string())),
        }
    }
}

/// Checks a scenario before its publication.
fn check(engine: &Engine, draft: &Scenario) -> TaskAnswer {
    match publish_check(engine, draft) {
        Ok(PublishCheck::Accepted { thumbnail }) => {
            TaskAnswer::Accepted { picture: thumbnail.map(|picture| to_hex(&picture)) }
        }
        Ok(PublishCheck::Rejected(fault)) => TaskAnswer::Rejected { fault },
        Err(ExamineError::Busy) => TaskAnswer::Busy,
        Err(error) => broken(&ErrorChain(&error).to_string()),
    }
}

fn broken(message: &str) -> TaskAnswer {
    TaskAnswer::Broken { message: message.to_owned() }
}
