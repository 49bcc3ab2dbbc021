//! `assay worker`: runs a service's jobs on this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use assay_model::{Secret, WorkerRegistration};
use assay_policy::remote::AddressGuard;
use assay_store::ScenarioFiles;
use assay_worker::{
    Engine, InputCache, RemoteWorker, RemoteWorkerOptions, ServerCallError, WorkerStop, check_rendering,
};
use clap::Args;

use super::machine;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::{IsolationArgs, lanes, network};
use crate::printing::complain;
use crate::secret::secret;
use crate::service_client::agent;
use crate::settings::{LogFormat, LogLevel, Network};

/// Default of the cache's size, in GiB.
const CACHE_GIB: u64 = 20;
/// Folder of scenarios in the cache.
const SCENARIOS: &str = "scenarios";
/// Interval at which the main thread checks whether the worker stops.
const TICK: Duration = Duration::from_millis(100);
/// Default of `--memory-mib`: the most that a scenario allows its policy.
const DEFAULT_MEMORY_MIB: u32 = 2048;

#[derive(Debug, Args)]
#[command(after_help = "Create the worker on the service first; its token is printed once:
  assay workers create gpu-07 --data /var/lib/assay > token

The worker only dials out, over HTTPS. On SIGTERM it finishes its episodes within --drain-s, hands back the rest, and ends.

Examples:
  assay worker --server https://assay.example.org --token-file token
  assay worker --server https://assay.example.org --token-file token --lanes 8 --labels room=b2,gpu=none

Exit codes: 0 drained, 2 wrong usage or refused by the service, 4 an internal error or the service cannot be reached.")]
pub(crate) struct WorkerArgs {
    /// Address of the service
    #[arg(long, value_name = "URL", env = "ASSAY_URL")]
    server: String,
    /// File with the worker's token
    #[arg(long, value_name = "FILE", required_unless_present = "token")]
    token_file: Option<PathBuf>,
    /// The worker's token
    #[arg(long, env = "ASSAY_WORKER_TOKEN", hide = true, hide_env_values = true, conflicts_with = "token_file")]
    token: Option<String>,
    /// Simulators that run at the same time [default: one per processor]
    #[arg(long, value_parser = lanes())]
    lanes: Option<u16>,
    /// Labels that jobs can demand: room=b2,gpu=none
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = label)]
    labels: Vec<(String, String)>,
    /// Folder for archives, models, scenarios, runtimes; one worker uses it at a time [default: ~/.cache/assay/worker]
    #[arg(long, value_name = "DIR", env = "ASSAY_WORKER_CACHE")]
    cache: Option<PathBuf>,
    /// Size of the cache in bytes; what running episodes need may exceed it
    #[arg(long, value_name = "BYTES", default_value_t = CACHE_GIB << 30)]
    cache_bytes: u64,
    /// Memory that one policy may use, in MiB; jobs that need more go to other workers
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY_MIB)]
    memory_mib: u32,
    /// Seconds that running episodes have to finish after SIGTERM
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    drain_s: u32,
    /// Networks that clients' policy servers may be in, besides the public Internet
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    policy_networks: Vec<Network>,
    /// Format of the log on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    #[command(flatten)]
    isolation: IsolationArgs,
}

/// Parses a label.
fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    if name.is_empty() || value.is_empty() {
        Err("write NAME=VALUE".to_owned())
    } else {
        Ok((name.to_owned(), value.to_owned()))
    }
}

pub(crate) fn run(arguments: &WorkerArgs, verbose: u8) -> Result<ExitStatus, Failure> {
    crate::log::start(verbose, LogLevel::Info, arguments.log_format);
    let token = secret("--token-file", arguments.token.as_deref(), arguments.token_file.as_deref()).or_usage()?;
    let token = token.ok_or_else(|| Failure::Usage(anyhow!("no token: use --token-file or ASSAY_WORKER_TOKEN")))?;
    let options = options(arguments, token)?;
    let signals = Signals::new()?;
    let (lanes, drain) = (options.registration.lanes, Duration::from_secs(arguments.drain_s.into()));
    let worker = RemoteWorker::start(options).map_err(failure)?;
    complain!("assay: worker {} of {} runs on {lanes} lanes", worker.name(), arguments.server);
    while !worker.is_stopping() && !signals.arrived() {
        std::thread::sleep(TICK);
    }
    complain!("assay: worker stops; running episodes have {} s to finish", drain.as_secs());
    match worker.drain(drain) {
        WorkerStop::Drained => Ok(ExitStatus::Success),
        WorkerStop::Refused(why) => Err(Failure::Usage(anyhow!("the service refuses this worker: {why}"))),
    }
}

fn options(arguments: &WorkerArgs, token: Secret) -> Result<RemoteWorkerOptions, Failure> {
    let agent = agent(&arguments.server).or_usage()?;
    let folder = arguments.cache.clone().or_else(default_cache);
    let folder =
        folder.ok_or_else(|| Failure::Usage(anyhow!("there is no home folder; choose a folder with --cache")))?;
    let cache = InputCache::open(&folder, arguments.cache_bytes).or_usage()?;
    let scenarios = ScenarioFiles::folder(&folder.join(SCENARIOS)).context("the cache of scenarios").or_internal()?;
    let mut installation = machine::installation()?;
    installation.added_runtimes.push(InputCache::runtimes(&folder));
    let guard = AddressGuard::new(arguments.policy_networks.iter().map(|network| network.0).collect());
    let engine = machine::service_engine(&installation, arguments.lanes, arguments.isolation.accepted())?;
    let engine = engine.guarded_by(guard).or_internal()?.with_versions(scenarios.clone());
    engine.runs_policies().or_internal()?;
    let registration = registration(arguments, &engine);
    Ok(RemoteWorkerOptions { engine, agent, server: arguments.server.clone(), token, cache, scenarios, registration })
}

fn registration(arguments: &WorkerArgs, engine: &Engine) -> WorkerRegistration {
    let cameras = check_rendering(engine).inspect_err(|error| {
        complain!(
            "assay: warning: policies with cameras, renderings and tasks of clients go to other workers: {}",
            assay_model::ErrorChain(&**error)
        );
    });
    WorkerRegistration {
        machine: engine.fingerprint().clone(),
        runtimes: engine.runtimes().list().iter().map(|runtime| runtime.manifest.version().sha256).collect(),
        fetches_runtimes: true,
        lanes: u32::try_from(engine.lanes()).unwrap_or(u32::MAX),
        cameras: cameras.is_ok(),
        renders: cameras.is_ok(),
        memory_mib: arguments.memory_mib,
        labels: arguments.labels.iter().cloned().collect::<BTreeMap<_, _>>(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Returns the folder of the cache in the user's home.
fn default_cache() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    Some(named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))?.join("assay/worker"))
}

fn failure(error: ServerCallError) -> Failure {
    match error {
        ServerCallError::Refused(_) | ServerCallError::Answer { .. } => Failure::Usage(error.into()),
        error => Failure::Internal(error.into()),
    }
}

/// SIGTERM and SIGINT.
struct Signals {
    arrived: tokio::task::JoinHandle<()>,
    /// Runs the task.
    _runtime: tokio::runtime::Runtime,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().or_internal()?;
        let waiting = {
            let _context = runtime.enter();
            crate::service::stop_signal().or_internal()?
        };
        let arrived = runtime.spawn(waiting);
        Ok(Self { arrived, _runtime: runtime })
    }

    fn arrived(&self) -> bool {
        self.arrived.is_finished()
    }
}
