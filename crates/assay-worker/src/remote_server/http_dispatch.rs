//! The dispatch of a worker on another host: the worker protocol over HTTPS.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{
    AccountId, Artifact, AssignedPolicy, Assignment, AttemptNote, ClaimAnswer, ClaimRequest, DeclaredModel,
    EpisodeResult, Fence, HeartbeatAnswer, HeartbeatRequest, JobId, LeasedResult, NoteRequest, ResultOutcome,
    ResultsAnswer, ResultsRequest, RunningEpisode, RuntimeVersion, Secret, ServerCall, Sha256Digest, ShardReturn,
    WantedShard,
};
use assay_scenario::Scenario;
use assay_store::{
    ArchiveFile, EpisodeProgress, Lease, ModelFile, PolicyServerAccess, PolicyServerCredentials, RecordOutcome,
    ScenarioFiles, ShardKind,
};
use tempfile::TempDir;

use super::cache::InputCache;
use super::client::ProtocolClient;
use super::error::ServerCallError;
use super::inputs::{self, outage};
use super::leases::Leases;
use super::result_batches::OutgoingResults;
use super::runtimes;
use super::shared_claims::SharedClaims;
use crate::shards::dispatch::{Dispatch, DispatchError};
use crate::shards::intervals::TICK;
use crate::{Cancel, Engine, SessionError};

/// Maximum length of an archive, and of a model whose length is not declared, in bytes; operators may allow less.
const MAX_ARCHIVE: u64 = 16 << 30;
const MAX_MODEL: u64 = 1 << 40;
/// Maximum pause after a claim that failed; it doubles from a second.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Claims shards from a server, and sends it their results.
#[derive(Debug)]
pub(super) struct HttpDispatch {
    engine: Arc<Engine>,
    client: Arc<ProtocolClient>,
    cache: InputCache,
    scenarios: ScenarioFiles,
    leases: Arc<Leases>,
    results: OutgoingResults,
    shared_claims: SharedClaims,
    /// Inputs of each shard, which stay in the cache while it runs.
    needed: Mutex<HashMap<Fence, HashSet<Sha256Digest>>>,
    /// Models and runtime of each task, by its lease.
    needed_by_tasks: Mutex<HashMap<String, HashSet<Sha256Digest>>>,
    progress: Mutex<HashMap<(JobId, u32), EpisodeProgress>>,
    /// Number of claims in a row that failed.
    failures: AtomicU32,
    /// Set when the worker is to end.
    stopping: Cancel,
    /// The reason why the worker has to end, if it was not asked to.
    refusal: Mutex<Option<String>>,
}

impl HttpDispatch {
    pub(super) fn new(
        engine: Arc<Engine>,
        client: Arc<ProtocolClient>,
        (cache, scenarios): (InputCache, ScenarioFiles),
        stopping: Cancel,
    ) -> Self {
        Self {
            engine,
            client,
            cache,
            scenarios,
            leases: Arc::default(),
            results: OutgoingResults::default(),
            shared_claims: SharedClaims::default(),
            needed: Mutex::default(),
            needed_by_tasks: Mutex::default(),
            progress: Mutex::default(),
            failures: AtomicU32::new(0),
            stopping,
            refusal: Mutex::default(),
        }
    }

    /// Ends waits for shards.
    #[cfg(test)]
    pub(super) fn stop(&self) {
        self.stopping.cancel();
    }

    /// Returns the reason why the worker has to end.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the interval at which leases are renewed.
    pub(super) fn beat(&self) -> Duration {
        self.client.beat()
    }

    /// Returns the claims that may have ended by now: the server has not been reached for too long.
    pub(super) fn overdue(&self) -> Vec<Fence> {
        self.leases.older_than(self.client.given_up())
    }

    /// Records an error after which the worker must stop.
    fn checked<T>(&self, answer: Result<T, ServerCallError>) -> Result<T, ServerCallError> {
        if let Err(ServerCallError::Refused(why)) = &answer {
            let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
            if refusal.is_none() {
                tracing::error!(why, "the server refuses this worker");
            }
            refusal.get_or_insert_with(|| why.clone());
            self.stopping.cancel();
        }
        answer
    }

    fn lease(&self, fence: Fence) -> Result<String, ServerCallError> {
        self.leases.text(fence).ok_or(ServerCallError::LeaseLost)
    }

    /// Asks for a shard on a thread of its own: the wait for the answer ends when the worker stops, or once `is_served`
    /// returns true.
    fn ask(&self, request: ClaimRequest, is_served: &dyn Fn() -> bool) -> Result<Option<ClaimAnswer>, ServerCallError> {
        // Without a buffer, an answer is either received, or known not to be.
        let (sender, receiver) = mpsc::sync_channel(0);
        let (client, leases) = (Arc::clone(&self.client), Arc::clone(&self.leases));
        let asking = thread::Builder::new().name("claim".to_owned()).spawn(move || {
            let (sent, wait) = (Instant::now(), Duration::from_secs(request.wait_s.into()));
            let answer: Result<ClaimAnswer, _> = client.post("/claim", &request, wait);
            if let Ok(ClaimAnswer { shard: Some(shard), waited_ms, .. }) = &answer {
                // The lease began at this time or later, whatever the clocks say.
                let began = sent + Duration::from_millis(*waited_ms).min(sent.elapsed());
                leases.add(shard.assignment.fence, shard.lease.clone(), began);
            }
            if let Err(mpsc::SendError(Ok(ClaimAnswer { shard: Some(shard), .. }))) = sender.send(answer) {
                // Nothing waits for the shard any more. Leaving the server gives it back as well.
                leases.remove(shard.assignment.fence);
                drop(client.send(&format!("/leases/{}/return", shard.lease), &ShardReturn::Release));
            }
        });
        drop(asking?);
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(answer) => return answer.map(Some),
                Err(RecvTimeoutError::Timeout) if !self.stopping.is_cancelled() && !is_served() => {}
                Err(_) => return Ok(None),
            }
        }
    }

    /// Claims a shard; returns none as soon as `is_served` returns true.
    fn claim_alone(
        &self,
        request: ClaimRequest,
        is_served: &dyn Fn() -> bool,
    ) -> Result<Option<Assignment>, DispatchError> {
        match self.checked(self.ask(request, is_served)) {
            Ok(answer) => {
                self.failures.store(0, Ordering::SeqCst);
                let Some(answer) = answer else { return Ok(None) };
                if answer.drain {
                    self.stopping.cancel();
                }
                Ok(answer.shard.map(|shard| shard.assignment))
            }
            Err(error) => {
                self.back_off();
                Err(error.into())
            }
        }
    }

    /// Claims a shard for a lane, and a job of a policy server for the thread that waits for one.
    fn claim_of_idle_lane(&self, wait: Duration) -> Result<Option<Assignment>, DispatchError> {
        let shared = self.shared_claims.join();
        let request = ClaimRequest { or_server: shared.is_some(), ..request(ShardKind::Policy, &[], wait) };
        let shard = self.claim_alone(request, &|| false)?;
        match (shared, shard) {
            (Some(shared), Some(shard)) if matches!(shard.policy, AssignedPolicy::Server { .. }) => {
                if let Some(shard) = shared.hand_over(shard) {
                    self.hand_back(shard.fence);
                }
                Ok(None)
            }
            (_, shard) => Ok(shard),
        }
    }

    /// Claims a job of a policy server: by a claim of an idle lane if there is one, otherwise by a claim of its own.
    fn claim_of_server(&self, wait: Duration) -> Result<Option<Assignment>, DispatchError> {
        self.shared_claims.want();
        self.shared_claims.wait_for_lanes(&|| self.stopping.is_cancelled());
        let is_served = || self.shared_claims.has_shard() || self.stopping.is_cancelled();
        let own = match is_served() {
            true => Ok(None),
            false => self.claim_alone(request(ShardKind::Server, &[], wait), &is_served),
        };
        match (own, self.shared_claims.stop_wanting()) {
            (Ok(Some(own)), Some(brought)) => {
                self.hand_back(brought.fence);
                Ok(Some(own))
            }
            (_, Some(brought)) => Ok(Some(brought)),
            (own, None) => own,
        }
    }

    /// Gives back a shard that nothing here waits for, on a thread of its own: the caller may have another to run.
    fn hand_back(&self, fence: Fence) {
        let Some(lease) = self.leases.text(fence) else { return };
        self.released(fence);
        let client = Arc::clone(&self.client);
        let give_back = move || client.send(&format!("/leases/{lease}/return"), &ShardReturn::Release);
        let returning = move || give_back().unwrap_or_else(|error| tracing::warn!(%error, "could not return a shard"));
        if let Err(error) = thread::Builder::new().name("return".to_owned()).spawn(returning) {
            tracing::warn!(%error, "could not return a shard: its lease will expire");
        }
    }

    fn back_off(&self) {
        let failures = self.failures.fetch_add(1, Ordering::SeqCst).min(5);
        let until = Instant::now() + Duration::from_secs(1 << failures).min(MAX_BACKOFF);
        while Instant::now() < until && !self.stopping.is_cancelled() {
            thread::sleep(TICK);
        }
    }

    fn cached(&self, fence: Fence, (sha256, limit): (Sha256Digest, u64), path: &str) -> Result<PathBuf, SessionError> {
        self.needed.lock().unwrap_or_else(PoisonError::into_inner).entry(fence).or_default().insert(sha256);
        let lease = self.lease(fence).map_err(outage)?;
        self.fetched((sha256, limit), &format!("/leases/{lease}/{path}"))
    }

    /// Returns an input from the cache, or from the server.
    fn fetched(&self, (sha256, limit): (Sha256Digest, u64), path: &str) -> Result<PathBuf, SessionError> {
        let fetch = |file: &Path| self.client.fetch(path, (sha256, limit), file);
        self.checked(self.cache.get(sha256, || self.needed_now(), fetch)).map_err(outage)
    }

    /// Returns what must stay in the cache.
    fn needed_now(&self) -> HashSet<Sha256Digest> {
        let shards = self.needed.lock().unwrap_or_else(PoisonError::into_inner);
        let tasks = self.needed_by_tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let open = self.engine.open_runtimes();
        shards.values().chain(tasks.values()).flatten().copied().chain(open).collect()
    }

    /// Fetches a runtime that is not installed here.
    fn provide_runtime(&self, version: &RuntimeVersion, lease: &str) -> Result<(), SessionError> {
        let is_here = || self.engine.runtimes().version(version).is_ok();
        let fetch = |folder: &Path| runtimes::fetch(&self.client, lease, version, folder);
        self.checked(self.cache.keep_runtime(version, is_here, || self.needed_now(), fetch)).map_err(outage)
    }

    /// Provides the runtime of a task's policy, which stays in the cache until [`Self::task_ended`].
    pub(super) fn task_runtime(
        &self,
        (path, lease): (&str, &str),
        runtime: Option<&RuntimeVersion>,
    ) -> Result<(), SessionError> {
        let Some(version) = runtime else { return Ok(()) };
        let mut needed = self.needed_by_tasks.lock().unwrap_or_else(PoisonError::into_inner);
        needed.entry(lease.to_owned()).or_default().insert(version.sha256);
        drop(needed);
        self.provide_runtime(version, path)
    }

    /// Returns the files of a task's models, which stay in the cache until [`Self::task_ended`].
    pub(super) fn task_models(
        &self,
        (path, lease): (&str, &str),
        models: &[DeclaredModel],
    ) -> Result<Vec<ModelFile>, SessionError> {
        let mut needed = self.needed_by_tasks.lock().unwrap_or_else(PoisonError::into_inner);
        needed.entry(lease.to_owned()).or_default().extend(models.iter().map(|model| model.sha256));
        drop(needed);
        let file = |model: &DeclaredModel| {
            let limit = model.size_bytes.unwrap_or(MAX_MODEL);
            let host = self.fetched((model.sha256, limit), &format!("{path}/models/{}", model.sha256))?;
            Ok(ModelFile { path: model.path.clone(), host, data: self.cache.folder().to_owned() })
        };
        models.iter().map(file).collect()
    }

    /// Forgets what a task needs.
    pub(super) fn task_ended(&self, lease: &str) {
        self.needed_by_tasks.lock().unwrap_or_else(PoisonError::into_inner).remove(lease);
    }
}

/// Returns a claim of one kind.
fn request(kind: ShardKind, excluded: &[AccountId], wait: Duration) -> ClaimRequest {
    let wanted = match kind {
        ShardKind::Policy => WantedShard::Policy,
        ShardKind::Secret => WantedShard::Secret,
        ShardKind::Server => WantedShard::Server,
    };
    let wait_s = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
    ClaimRequest { wanted, or_server: false, excluded_accounts: excluded.to_vec(), wait_s }
}

impl Dispatch for HttpDispatch {
    fn claim(
        &self,
        kind: ShardKind,
        excluded: &[AccountId],
        wait: Duration,
    ) -> Result<Option<Assignment>, DispatchError> {
        match kind {
            ShardKind::Server if self.client.shares_claims() => self.claim_of_server(wait),
            ShardKind::Policy if excluded.is_empty() && !wait.is_zero() => self.claim_of_idle_lane(wait),
            kind => self.claim_alone(request(kind, excluded, wait), &|| false),
        }
    }

    fn wait_for_work(&self, _limit: Duration) -> bool {
        // Claims wait instead.
        false
    }

    fn renew(&self, held: &[Fence]) -> Result<Vec<Fence>, DispatchError> {
        let leases = self.leases.texts(held);
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let running = |((job_id, episode), progress): (&(JobId, u32), &EpisodeProgress)| RunningEpisode {
            job_id: *job_id,
            episode: *episode,
            step: progress.step,
            max_steps: progress.max_steps,
        };
        let request = HeartbeatRequest {
            leases: leases.iter().map(|(_, text)| text.clone()).collect(),
            progress: progress.iter().map(running).collect(),
        };
        drop(progress);
        let sent = Instant::now();
        let answer: HeartbeatAnswer = self.checked(self.client.post_quickly("/beat", &request, self.beat()))?;
        if answer.drain {
            self.stopping.cancel();
        }
        let (lost, kept): (Vec<_>, Vec<_>) = leases.into_iter().partition(|(_, text)| answer.lost.contains(text));
        let fences = |leases: Vec<(Fence, String)>| leases.into_iter().map(|(fence, _)| fence).collect::<Vec<_>>();
        self.leases.confirm(&fences(kept), sent);
        Ok(fences(lost))
    }

    fn scenario(&self, shard: &Assignment) -> Result<Arc<Scenario>, SessionError> {
        let lease = format!("/leases/{}", self.lease(shard.fence).map_err(outage)?);
        let version = (&shard.scenario, shard.scenario_digest);
        inputs::scenario(&self.engine, &self.scenarios, (&self.client, &lease), version)
    }

    fn archive(&self, shard: &Assignment) -> Result<ArchiveFile, SessionError> {
        let AssignedPolicy::Archive { sha256, runtime, .. } = &shard.policy else {
            return Err(SessionError::internal("the policy has no archive"));
        };
        if let Some(version) = runtime {
            let mut needed = self.needed.lock().unwrap_or_else(PoisonError::into_inner);
            needed.entry(shard.fence).or_default().insert(version.sha256);
            drop(needed);
            let lease = self.lease(shard.fence).map_err(outage)?;
            self.provide_runtime(version, &format!("/leases/{lease}"))?;
        }
        self.cached(shard.fence, (*sha256, MAX_ARCHIVE), "policy").map(ArchiveFile::at)
    }

    fn models(&self, shard: &Assignment) -> Result<Vec<ModelFile>, SessionError> {
        let AssignedPolicy::Archive { models, .. } = &shard.policy else { return Ok(Vec::new()) };
        let file = |model: &DeclaredModel| {
            let limit = model.size_bytes.unwrap_or(MAX_MODEL);
            let host = self.cached(shard.fence, (model.sha256, limit), &format!("models/{}", model.sha256))?;
            Ok(ModelFile { path: model.path.clone(), host, data: self.cache.folder().to_owned() })
        };
        models.iter().map(file).collect()
    }

    fn server(&self, shard: &Assignment) -> Result<PolicyServerAccess, SessionError> {
        let lease = self.lease(shard.fence).map_err(outage)?;
        let call: ServerCall = self.checked(self.client.get(&format!("/leases/{lease}/server"))).map_err(outage)?;
        Ok(PolicyServerAccess::Call(PolicyServerCredentials {
            url: Secret::new(call.url),
            api_key: call.api_key.map(Secret::new),
            concurrency: call.concurrency,
        }))
    }

    fn evidence_folder(&self) -> io::Result<TempDir> {
        self.engine.scratch("evidence")
    }

    fn storage_root(&self) -> &Path {
        self.cache.folder()
    }

    fn keep(&self, fence: Fence, file: &Artifact, path: &Path) -> Result<(), DispatchError> {
        let lease = self.lease(fence)?;
        Ok(self.checked(self.client.put(&format!("/leases/{lease}/evidence/{}", file.sha256), path))?)
    }

    fn record(&self, fence: Fence, result: &EpisodeResult) -> Result<RecordOutcome, DispatchError> {
        let leased = LeasedResult { lease: self.lease(fence)?, result: result.clone() };
        let request = |results: &[LeasedResult]| {
            let request = ResultsRequest { results: results.to_vec() };
            let answer: ResultsAnswer = self.client.report("/results", &request)?;
            Ok(answer.outcomes)
        };
        Ok(match self.checked(self.results.send(leased, request))? {
            ResultOutcome::New { left_in_shard, left_in_job } => RecordOutcome::New { left_in_shard, left_in_job },
            ResultOutcome::Duplicate => RecordOutcome::Duplicate,
            ResultOutcome::Fenced => RecordOutcome::Fenced,
        })
    }

    fn recorded(&self, _fence: Fence, _result: &EpisodeResult, _outcome: RecordOutcome) {}

    fn note(&self, fence: Fence, note: &AttemptNote) -> Result<Lease, DispatchError> {
        let path = format!("/leases/{}/notes", self.lease(fence)?);
        match self.checked(self.client.send(&path, &NoteRequest { note: note.clone() })) {
            Ok(()) => Ok(Lease::Held),
            Err(ServerCallError::LeaseLost) => Ok(Lease::Lost),
            Err(error) => Err(error.into()),
        }
    }

    fn give_back(&self, fence: Fence, how: ShardReturn) -> Result<(), DispatchError> {
        let path = format!("/leases/{}/return", self.lease(fence)?);
        match self.checked(self.client.send(&path, &how)) {
            Ok(()) | Err(ServerCallError::LeaseLost) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn progress(&self, job: JobId, progress: EpisodeProgress) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).insert((job, progress.episode), progress);
    }

    fn ended(&self, job: JobId, episode: u32) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).remove(&(job, episode));
    }

    fn released(&self, fence: Fence) {
        self.leases.remove(fence);
        self.needed.lock().unwrap_or_else(PoisonError::into_inner).remove(&fence);
    }

    fn storage_health(&self, _shard: &Assignment, problem: Option<&str>) {
        if let Some(problem) = problem {
            tracing::warn!(problem, "a shard is postponed");
        }
    }
}
