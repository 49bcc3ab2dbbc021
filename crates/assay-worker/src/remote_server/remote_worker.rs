//! Starts and stops the threads of a worker on another host.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use assay_model::{RegisterAnswer, RegisterRequest, Secret, SystemClock, WORKER_PROTOCOL, WorkerRegistration};
use assay_store::ScenarioFiles;

use super::cache::InputCache;
use super::client::ProtocolClient;
use super::error::ServerCallError;
use super::http_dispatch::HttpDispatch;
use super::remote_renderer::RemoteRenderer;
use super::task_leases::TaskLeases;
use super::task_runner::TaskRunner;
use crate::engine::core_of;
use crate::shards::intervals::{CLAIM_WAIT, TICK};
use crate::shards::quiet::Quiet;
use crate::shards::runner::ShardRunner;
use crate::shards::warm_lane::WarmLane;
use crate::shards::{relief, server_jobs};
use crate::{Cancel, Engine, WallBudget};

/// Maximum of each part of the budget for sleeping policies, in seconds: ten days.
const MAX_WALL_BUDGET_S: f64 = 864_000.0;
/// Interval at which leases are checked that could not be renewed.
const CHECK: Duration = Duration::from_secs(1);

/// The dependencies and settings of a worker on another host.
#[derive(Debug)]
pub struct RemoteWorkerOptions {
    /// Runs episodes; knows the scenarios in `scenarios`.
    pub engine: Engine,
    /// Sends the requests.
    pub agent: ureq::Agent,
    /// Address of the server.
    pub server: String,
    /// The worker's token.
    pub token: Secret,
    /// Cached inputs.
    pub cache: InputCache,
    /// Scenarios from the server.
    pub scenarios: ScenarioFiles,
    /// The worker's description of itself.
    pub registration: WorkerRegistration,
}

/// A worker on another host that runs.
#[derive(Debug)]
pub struct RemoteWorker {
    name: String,
    client: Arc<ProtocolClient>,
    runner: Arc<ShardRunner>,
    dispatch: Arc<HttpDispatch>,
    renderer: Arc<RemoteRenderer>,
    task_leases: Arc<TaskLeases>,
    threads: Vec<JoinHandle<()>>,
}

/// The reason why a worker has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerStop {
    /// It was asked to, by a signal or by its server.
    Drained,
    /// The server refuses it.
    Refused(String),
}

impl RemoteWorker {
    /// Registers the worker and starts its threads.
    ///
    /// # Errors
    /// [`ServerCallError`]: the server does not accept it, or cannot be reached.
    pub fn start(options: RemoteWorkerOptions) -> Result<Self, ServerCallError> {
        let client = Arc::new(ProtocolClient::new(options.agent, &options.server, options.token));
        let renders = options.registration.renders;
        let request = RegisterRequest { protocol: WORKER_PROTOCOL, registration: options.registration };
        let answer: RegisterAnswer = client.post("/register", &request, Duration::ZERO)?;
        client.begin_registration(&answer);
        let wall_budget = wall_budget(&answer)?;
        let (engine, stopping) = (Arc::new(options.engine.with_wall_budget(wall_budget)), Cancel::new());
        let task_leases = Arc::new(TaskLeases::new(Arc::clone(&client), stopping.clone()));
        let held = (Arc::clone(&task_leases), stopping.clone());
        let scenarios = options.scenarios.clone();
        let renderer = RemoteRenderer::new(Arc::clone(&engine), Arc::clone(&client), scenarios.clone(), held);
        let inputs = (options.cache, options.scenarios);
        let dispatch = Arc::new(HttpDispatch::new(Arc::clone(&engine), Arc::clone(&client), inputs, stopping.clone()));
        let lanes = engine.lanes();
        let runner = ShardRunner::new(Arc::clone(&engine), engine, Arc::clone(&dispatch) as _, Arc::new(SystemClock));
        let runner = Arc::new(runner.stopping_with(stopping));
        let (renderer, does_tasks) = (Arc::new(renderer), renders && answer.trusted);
        let mut worker =
            Self { name: answer.worker, client, runner, dispatch, renderer, task_leases, threads: Vec::new() };
        worker.spawn_all(lanes)?;
        if renders {
            worker.spawn_renderers(lanes)?;
        }
        if does_tasks {
            worker.spawn_tasks(scenarios)?;
        }
        Ok(worker)
    }

    /// Returns the worker's name on its server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true once the worker takes no new work.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.runner.stopping.is_cancelled()
    }

    /// Takes no new work from now on.
    pub fn stop(&self) {
        self.runner.stopping.cancel();
    }

    /// Takes no new work; running episodes may end within `limit`, then they are handed back. Returns when all threads
    /// have ended.
    #[must_use]
    pub fn drain(self, limit: Duration) -> WorkerStop {
        self.stop();
        // Unfinished renderings and tasks are left to others.
        self.task_leases.cancel_all();
        // A refused worker's results have no effect.
        let limit = if self.dispatch.refusal().is_some() { Duration::ZERO } else { limit };
        self.runner.drain(limit);
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("worker thread panicked");
            }
        }
        match self.dispatch.refusal() {
            Some(why) => WorkerStop::Refused(why),
            None => {
                // Whatever it was handed meanwhile goes back at once instead of after the lease.
                if let Err(error) = self.client.send("/leave", &serde_json::json!({})) {
                    tracing::warn!(%error, "could not sign off from the server; the leases will expire");
                }
                WorkerStop::Drained
            }
        }
    }

    fn spawn_all(&mut self, lanes: usize) -> Result<(), ServerCallError> {
        for lane in 0..lanes {
            let renderer = Arc::clone(&self.renderer);
            self.spawn(format!("lane-{lane}"), move |runner| run_lane(runner, &renderer, core_of(lane)))?;
        }
        for number in 0..relief::MAX_RELIEFS_PER_LANE * lanes {
            self.spawn(format!("relief-{number}"), move |runner| runner.run_relief_lane(core_of(number), &|| ()))?;
        }
        for number in 0..server_jobs::MAX_JOBS {
            self.spawn(format!("server-{number}"), |runner| runner.serve_servers(&|| ()))?;
        }
        let (dispatch, beat) = (Arc::clone(&self.dispatch), self.dispatch.beat());
        self.spawn("beat".to_owned(), move |runner| run_heartbeat(runner, beat))?;
        self.spawn("leases".to_owned(), move |runner| give_up_overdue(runner, &dispatch))
    }

    /// Starts as many threads for rendering as there are lanes that may be idle, and one that renews their leases.
    fn spawn_renderers(&mut self, lanes: usize) -> Result<(), ServerCallError> {
        for lane in 0..lanes {
            let renderer = Arc::clone(&self.renderer);
            self.spawn(format!("draw-{lane}"), move |_| renderer.run())?;
        }
        let leases = Arc::clone(&self.task_leases);
        self.spawn("task-beat".to_owned(), move |_| leases.run_heartbeat())
    }

    /// Starts a thread that does tasks which clients of the server wait for.
    fn spawn_tasks(&mut self, scenarios: ScenarioFiles) -> Result<(), ServerCallError> {
        let tasks = TaskRunner {
            engine: Arc::clone(&self.runner.engine),
            client: Arc::clone(&self.client),
            dispatch: Arc::clone(&self.dispatch),
            scenarios,
            held: Arc::clone(&self.task_leases),
            stopping: self.runner.stopping.clone(),
        };
        self.spawn("tasks".to_owned(), move |_| tasks.run())
    }

    fn spawn(&mut self, name: String, body: impl FnOnce(&ShardRunner) + Send + 'static) -> Result<(), ServerCallError> {
        let runner = Arc::clone(&self.runner);
        self.threads.push(thread::Builder::new().name(name).spawn(move || body(&runner))?);
        Ok(())
    }
}

/// Returns the server's budget for sleeping policies.
fn wall_budget(answer: &RegisterAnswer) -> Result<WallBudget, ServerCallError> {
    let (base_s, per_simulated_s) = (answer.wall_budget_s, answer.wall_budget_per_simulated_s);
    if !(0.0..=MAX_WALL_BUDGET_S).contains(&base_s) || !(0.0..=MAX_WALL_BUDGET_S).contains(&per_simulated_s) {
        return Err(ServerCallError::WrongFile("a budget for sleeping policies".to_owned()));
    }
    Ok(WallBudget { base: Duration::from_secs_f64(base_s), per_simulated_s })
}

fn run_lane(runner: &ShardRunner, renderer: &RemoteRenderer, core: usize) {
    let (mut spare, mut quiet) = (WarmLane::new(core), Quiet::default());
    let mut worked = true;
    while !runner.stopping.is_cancelled() {
        let is_over = quiet.is_over(runner.clock.now());
        // After work there may be more at once.
        if worked && runner.shard_next(&mut spare, (&mut quiet, is_over), (Duration::ZERO, None), &|| ()) {
            continue;
        }
        spare.start(&*runner.host);
        // A lane that must be quiet looks again soon whether it still must.
        let wait = if is_over { CLAIM_WAIT } else { Duration::from_secs(1) };
        let idle = is_over.then(|| renderer.renderers.idle());
        worked = runner.shard_next(&mut spare, (&mut quiet, is_over), (wait, idle), &|| ());
    }
}

fn run_heartbeat(runner: &ShardRunner, beat: Duration) {
    while !(runner.stopping.is_cancelled() && runner.claims.is_empty()) {
        runner.sleep(beat);
        if let Err(error) = runner.renew_shards() {
            error.log("could not renew leases");
        }
    }
}

/// Stops work on shards whose lease may have ended, because the server was not reached. On a thread of its own, since a
/// renewal may hang.
fn give_up_overdue(runner: &ShardRunner, dispatch: &HttpDispatch) {
    while !(runner.stopping.is_cancelled() && runner.claims.is_empty()) {
        let overdue = dispatch.overdue();
        for (fence, cancel) in runner.claims.shards() {
            if overdue.contains(&fence) && !cancel.is_cancelled() {
                tracing::warn!(job.id = %fence.job_id, shard = fence.shard, "the server was not reached: lease given up");
                cancel.cancel();
            }
        }
        if dispatch.refusal().is_some() {
            runner.claims.cancel_all();
        }
        runner.sleep(CHECK.max(TICK));
    }
}
