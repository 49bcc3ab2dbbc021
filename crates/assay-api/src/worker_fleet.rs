//! The workers on other hosts as a whole: how many lanes they have, and waking those that wait for a shard.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use assay_model::{Fence, Fingerprint, Sha256Digest, WantedShard, WorkerRegistration, WorkerTask};
use assay_store::{Queue, Records, StoreError, TaskFiles, Work, WorkerName, WorkerRecord, WorkerState};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::time::Instant;

use crate::evidence_allowances::EvidenceAllowances;
use crate::remembered_scenarios::RememberedScenarios;
use crate::waiting_claims::WaitingClaims;

/// Time since its last call after which a worker no longer counts.
const ABSENT: SignedDuration = SignedDuration::from_secs(90);
/// Interval at which the records are searched for work on behalf of all workers that wait: for what was postponed, or
/// queued by another process. A request that begins to wait within it shares the last look.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// Of the workers that wait while there is work, one in so many is woken after each look: the work may be none that it
/// can do, and a claim writes.
const WOKEN_ONE_IN: u32 = 5;
/// The same for a look for tasks, which clients wait for.
const SHARED_BRIEFLY: Duration = Duration::from_millis(100);

/// Maximum number of large bodies of a worker at the same time. A real one sends two requests with results at a time.
const MAX_LARGE_BODIES: usize = 4;

/// The right to audit a result.
pub(crate) type AuditTurn = AsyncMutex<()>;

/// The worker that a job lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MissingWorker {
    /// There is none.
    Any,
    /// None has the runtime of its policy.
    WithRuntime,
    /// None has these labels that the job demands, described for people.
    WithLabels(String),
}

/// A worker that may do tasks which clients wait for: the operator trusts it, and it renders.
#[derive(Debug, Clone)]
pub(crate) struct TaskWorker {
    name: WorkerName,
    machine: Fingerprint,
    runtimes: Vec<Sha256Digest>,
    labels: BTreeMap<String, String>,
    memory_mib: u32,
}

impl TaskWorker {
    /// Returns what a worker can do; `None` if it may do no tasks.
    pub(crate) fn of(worker: &WorkerRecord, fleet: &WorkerFleet) -> Option<Self> {
        let registration = worker.registration.as_ref()?;
        (worker.trusted && registration.renders).then(|| Self {
            name: worker.name.clone(),
            machine: registration.machine.clone(),
            runtimes: fleet.runtimes_of(registration),
            labels: registration.labels.clone(),
            memory_mib: registration.memory_mib,
        })
    }

    /// Returns true if it has what a task needs.
    pub(crate) fn can_do(&self, task: &WorkerTask) -> bool {
        task.runtime().is_none_or(|runtime| self.runtimes.contains(&runtime))
            && task.labels().into_iter().flatten().all(|label| has_label(&self.labels, label))
            && task.memory_mib() <= self.memory_mib
            && task.machine().is_none_or(|machine| machine == self.machine.digest())
    }
}

fn has_label(labels: &BTreeMap<String, String>, (name, value): (&String, &String)) -> bool {
    labels.get(name) == Some(value)
}

/// The workers on other hosts. Shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct WorkerFleet(Arc<FleetState>);

#[derive(Debug, Default)]
struct FleetState {
    /// Claims of shards whose policies the worker runs.
    policies: WaitingClaims,
    /// Claims of jobs of policy servers.
    servers: WaitingClaims,
    /// Claims of renderings.
    renderings: WaitingClaims,
    /// Number of workers that called lately.
    present: AtomicU32,
    /// The last look into the records for queued shards, the number of shards queued by then, and whether one waited.
    looked: AsyncMutex<Option<(Instant, u32, bool)>>,
    /// Number of shards that this process queued, modulo 2^32.
    queued: AtomicU32,
    /// The last look for renderings, and whether there were any.
    renders: AsyncMutex<Option<(Instant, bool)>>,
    /// The last look for tasks, and whether there were any.
    tasks: AsyncMutex<Option<(Instant, bool)>>,
    /// The workers that may do tasks.
    task_workers: Mutex<Vec<TaskWorker>>,
    lanes: AtomicU32,
    /// The labels of each.
    labels: Mutex<Vec<BTreeMap<String, String>>>,
    /// The runtimes that they have, or can fetch.
    runtimes: Mutex<HashSet<Sha256Digest>>,
    /// The runtimes that workers can fetch here.
    offered: Mutex<HashSet<Sha256Digest>>,
    evidence: EvidenceAllowances,
    scenarios: RememberedScenarios,
    /// The turns of workers that send large bodies.
    large_bodies: Mutex<HashMap<WorkerName, Weak<Semaphore>>>,
    /// Held while a result is audited, one for each that is waited for.
    turns: Mutex<HashMap<(Fence, u32), Weak<AuditTurn>>>,
}

impl WorkerFleet {
    /// Returns the number of lanes of the workers that called lately.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.0.lanes.load(Ordering::Relaxed)
    }

    /// Returns true if there is another place than one worker to run episodes: lanes of servers, or other workers.
    pub(crate) fn has_others(&self, server_lanes: u32) -> bool {
        server_lanes > 0 || self.0.present.load(Ordering::Relaxed) > 1
    }

    /// Returns what the workers that called lately lack to run a policy in `runtime`.
    pub(crate) fn missing(&self, runtime: Option<Sha256Digest>) -> Option<MissingWorker> {
        if self.0.present.load(Ordering::Relaxed) == 0 {
            return Some(MissingWorker::Any);
        }
        let runtimes = self.0.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        runtime.filter(|runtime| !runtimes.contains(runtime)).map(|_| MissingWorker::WithRuntime)
    }

    /// Returns the labels of these that no worker that called lately has, if there are any: a single one, or else all
    /// together.
    pub(crate) fn missing_labels(&self, demanded: &BTreeMap<String, String>) -> Option<MissingWorker> {
        if demanded.is_empty() {
            return None;
        }
        let present = self.0.labels.lock().unwrap_or_else(PoisonError::into_inner);
        if present.iter().any(|labels| demanded.iter().all(|label| has_label(labels, label))) {
            return None;
        }
        let text = |(name, value): (&String, &String)| format!("{name}={value}");
        let alone = demanded.iter().find(|label| !present.iter().any(|labels| has_label(labels, *label)));
        Some(MissingWorker::WithLabels(match alone {
            Some(label) => format!("the label {}", text(label)),
            None => format!("the labels {} together", demanded.iter().map(text).collect::<Vec<_>>().join(", ")),
        }))
    }

    /// Returns the space for the evidence that workers send.
    pub(crate) fn evidence(&self) -> &EvidenceAllowances {
        &self.0.evidence
    }

    /// Returns the scenarios that they fetched last.
    pub(crate) fn scenarios(&self) -> &RememberedScenarios {
        &self.0.scenarios
    }

    /// Returns the runtimes that a worker has, or can fetch.
    pub(crate) fn runtimes_of(&self, worker: &WorkerRegistration) -> Vec<Sha256Digest> {
        let mut runtimes = worker.runtimes.clone();
        if worker.fetches_runtimes {
            let offered = self.0.offered.lock().unwrap_or_else(PoisonError::into_inner);
            runtimes.extend(offered.iter().filter(|sha256| !worker.runtimes.contains(sha256)));
        }
        runtimes
    }

    /// Counts the lanes of the workers that called lately; `offered` are the runtimes that they can fetch here.
    pub(crate) async fn count(
        &self,
        records: &dyn Records,
        offered: HashSet<Sha256Digest>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        *self.0.offered.lock().unwrap_or_else(PoisonError::into_inner) = offered;
        let workers = records.workers().await?;
        let is_present = |worker: &&WorkerRecord| {
            worker.state == WorkerState::Active
                && worker.is_admitted(now)
                && worker.seen_at.is_some_and(|seen| now.duration_since(seen) < ABSENT)
        };
        let present: Vec<_> = workers.iter().filter(is_present).collect();
        self.0.present.store(u32::try_from(present.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
        let registered = present.iter().filter_map(|worker| worker.registration.as_ref());
        let runtimes = registered.flat_map(|worker| self.runtimes_of(worker)).collect();
        *self.0.runtimes.lock().unwrap_or_else(PoisonError::into_inner) = runtimes;
        let able = present.iter().filter_map(|worker| TaskWorker::of(worker, self)).collect();
        *self.0.task_workers.lock().unwrap_or_else(PoisonError::into_inner) = able;
        let labels = present.iter().filter_map(|worker| Some(worker.registration.as_ref()?.labels.clone())).collect();
        *self.0.labels.lock().unwrap_or_else(PoisonError::into_inner) = labels;
        let lanes = present.iter().filter_map(|worker| Some(worker.registration.as_ref()?.lanes));
        self.0.lanes.store(lanes.fold(0, u32::saturating_add), Ordering::Relaxed);
        Ok(())
    }

    /// Returns the machines of the workers that called lately and may do tasks.
    #[must_use]
    pub fn task_machines(&self) -> Vec<Fingerprint> {
        let workers = self.0.task_workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.iter().map(|worker| worker.machine.clone()).collect()
    }

    /// Returns true if a worker that called lately can do a task, besides those that `failed` at it.
    #[must_use]
    pub fn can_do(&self, task: &WorkerTask, failed: &[WorkerName]) -> bool {
        let workers = self.0.task_workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.iter().any(|worker| !failed.contains(&worker.name) && worker.can_do(task))
    }

    /// Returns true if a task waits, or lately waited. Many workers may ask at the same time.
    pub(crate) async fn sees_tasks(&self, tasks: &TaskFiles) -> bool {
        let mut looked = self.0.tasks.lock().await;
        match *looked {
            Some((at, found)) if at.elapsed() < SHARED_BRIEFLY => found,
            _ => {
                let found = tasks.queued().is_ok_and(|queued| !queued.is_empty());
                *looked = Some((Instant::now(), found));
                found
            }
        }
    }

    /// Returns the turns of a worker that sends large bodies, which take memory.
    pub(crate) fn large_bodies(&self, worker: &WorkerName) -> Arc<Semaphore> {
        let mut bodies = self.0.large_bodies.lock().unwrap_or_else(PoisonError::into_inner);
        bodies.retain(|_, turns| turns.strong_count() > 0);
        let known = bodies.get(worker).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let new = Arc::new(Semaphore::new(MAX_LARGE_BODIES));
            bodies.insert(worker.clone(), Arc::downgrade(&new));
            new
        })
    }

    /// Returns the lock that is held while a result is audited: a result that is sent again meanwhile waits, without
    /// taking the place of another audit.
    pub(crate) fn audit_turn(&self, claim: Fence, episode: u32) -> Arc<AuditTurn> {
        let mut turns = self.0.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let known = turns.get(&(claim, episode)).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let new = Arc::default();
            turns.insert((claim, episode), Arc::downgrade(&new));
            new
        })
    }

    /// Wakes one waiting worker of each kind: the kind of the new shard is not known here.
    fn wake(&self) {
        self.0.queued.fetch_add(1, Ordering::SeqCst);
        self.0.policies.wake_one();
        self.0.servers.wake_one();
    }

    /// Returns a number that changes with each shard that this process queues.
    pub(crate) fn queued(&self) -> u32 {
        self.0.queued.load(Ordering::SeqCst)
    }

    /// Wakes all waiting workers, since the state of one or of the server has changed.
    pub(crate) fn wake_all(&self) {
        let Self(state) = self;
        [&state.policies, &state.servers, &state.renderings].into_iter().for_each(WaitingClaims::wake_all);
    }

    /// Wakes some of the workers that wait for work of which there is any, according to the records.
    pub(crate) async fn wake_for_work(&self, records: &dyn Records) -> Result<(), StoreError> {
        let Self(state) = self;
        let shards = [&state.policies, &state.servers];
        if !shards.iter().all(|claims| claims.is_empty()) && self.sees_work(records).await? {
            shards.into_iter().for_each(|claims| claims.wake_some(WOKEN_ONE_IN));
        }
        if !state.renderings.is_empty() && self.sees_renders(records).await? {
            state.renderings.wake_some(WOKEN_ONE_IN);
        }
        Ok(())
    }

    /// Returns true if a shard is, or lately was, queued; one that another process queued is seen after a second. Many
    /// workers may ask at the same time.
    pub(crate) async fn sees_work(&self, records: &dyn Records) -> Result<bool, StoreError> {
        let mut looked = self.0.looked.lock().await;
        let queued = self.queued();
        match *looked {
            Some((at, before, found)) if at.elapsed() < LOOK && before == queued => Ok(found),
            _ => {
                let found = records.claimable(1).await.map(|found| !found.is_empty());
                // An error counts as well: during an outage, the others do not wait for one error each.
                *looked = Some((Instant::now(), queued, matches!(found, Ok(true))));
                found
            }
        }
    }

    /// Returns true if a rendering is, or lately was, queued. Many workers may ask at the same time.
    pub(crate) async fn sees_renders(&self, records: &dyn Records) -> Result<bool, StoreError> {
        let mut looked = self.0.renders.lock().await;
        match *looked {
            Some((at, found)) if at.elapsed() < LOOK => Ok(found),
            _ => {
                let found = records.has_renders().await;
                *looked = Some((Instant::now(), matches!(found, Ok(true))));
                found
            }
        }
    }

    /// Returns the claims that wait for shards like these.
    pub(crate) fn waiting_for(&self, shards: WantedShard) -> &WaitingClaims {
        match shards {
            WantedShard::Server => &self.0.servers,
            WantedShard::Policy | WantedShard::Secret => &self.0.policies,
        }
    }

    /// Returns the claims that wait for renderings.
    pub(crate) fn waiting_for_renderings(&self) -> &WaitingClaims {
        &self.0.renderings
    }
}

/// A queue that also wakes workers on other hosts.
#[derive(Debug)]
pub struct WakingQueue {
    queue: Arc<dyn Queue>,
    fleet: WorkerFleet,
}

impl WakingQueue {
    /// Creates a queue that passes everything on to `queue`.
    #[must_use]
    pub fn new(queue: Arc<dyn Queue>, fleet: WorkerFleet) -> Self {
        Self { queue, fleet }
    }
}

#[async_trait]
impl Queue for WakingQueue {
    async fn publish(&self, work: Work) {
        if matches!(work, Work::Shard { .. }) {
            self.fleet.wake();
        }
        self.queue.publish(work).await;
    }

    async fn next(&self, timeout: Duration) -> Option<Work> {
        self.queue.next(timeout).await
    }
}
