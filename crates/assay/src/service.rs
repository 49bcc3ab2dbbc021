//! Wiring of the service: records, worker and API in one process.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use assay_api::keys::{Bootstrap, bootstrap};
use assay_api::{
    AccountSlots, ApiSettings, AppState, CheckedPolicy, CheckedServer, EventHub, IntakeFailure, OsEntropy,
    PolicyIntake, QueueForecast, RateWindows, Readiness, SigningKeys, StaticCatalog, UploadSpace, UrlSigner,
    prepare_folders,
};
use assay_judge::Judge;
use assay_model::{Clock, ErrorChain, SystemClock};
use assay_policy::remote::{AddressGuard, ServerEndpoint};
use assay_policy::{IntakeLimits, check_archive};
use assay_report::attest::PublishedKeys;
use assay_store::{
    Blobs, LiveProgress, LocalLiveProgress, LocalQueue, PolicyServerCredentialsStore, Records, ScenarioFiles,
    SqliteRecords, StorageHealth,
};
use assay_worker::{Cancel, Engine, Keyring, ServiceOptions, WorkerService};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::num::NonZeroU32;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::installed_versions;
use crate::metrics;
use crate::preflights::{EnginePreflights, NOT_RUN, refused};
use crate::publisher::EnginePublisher;
use crate::replayer::LocalReplayer;
use crate::settings::Settings;
use crate::webhooks::GuardedSender;

/// Folder of the signing keys in the data folder.
const SIGNING: &str = "signing";
/// Running episodes may end within this time after SIGTERM, then they are handed back. The whole stop takes less than
/// 10 s.
const DRAIN: Duration = Duration::from_secs(6);

/// Folder of the evidence in the data folder.
const BLOBS: &str = "blobs";
/// Folder of the scenario versions in the data folder.
const SCENARIOS: &str = "scenarios";
/// Folder of the calls of policy servers in the data folder.
const SERVERS: &str = "servers";

/// Unpacks archives to throw them away: only that shows whether every entry is what it says.
#[derive(Debug)]
struct ArchiveIntake {
    engine: Arc<Engine>,
    limits: IntakeLimits,
}

/// The public half of what the worker signs with.
#[derive(Debug)]
struct PublicKeys(Keyring);

impl SigningKeys for PublicKeys {
    fn published(&self) -> std::io::Result<PublishedKeys> {
        self.0.published().map_err(std::io::Error::other)
    }
}

impl PolicyIntake for ArchiveIntake {
    fn check(&self, zip: &Path) -> Result<CheckedPolicy, IntakeFailure> {
        if self.engine.runs_policies().is_err() {
            return Err(IntakeFailure::NotRun(NOT_RUN));
        }
        // Whoever runs it unpacks it: files that come and go would have to reach the disk with the archive.
        let taken = check_archive(zip, &self.limits).map_err(refused)?;
        Ok(CheckedPolicy { sha256: taken.sha256, warnings: self.engine.isolation_warning().into_iter().collect() })
    }

    fn check_server(&self, url: &str) -> Result<CheckedServer, IntakeFailure> {
        let refused = |message: String| IntakeFailure::Refused { field: "policy_url", message };
        let endpoint = ServerEndpoint::parse(url).map_err(|error| refused(format!("policy_url {error}")))?;
        let guard = self.engine.remote().guard();
        guard.check(&endpoint).map_err(|error| refused(guard.told(&error)))?;
        Ok(CheckedServer { name: endpoint.to_string() })
    }
}

/// Every client needs an open file, and the usual limit is low for reasons of programs long gone. What runs in jails
/// has a limit of its own.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        eprintln!("assay: the limit of open files stays as it is: {error}");
    }
}

/// Serves until SIGTERM or Ctrl-C, then drains.
pub(crate) async fn run(settings: &Settings, engine: Engine, judge: Option<Judge>) -> anyhow::Result<()> {
    raise_file_limit();
    let data = data_folder(settings.server.data()?)?;
    let records = SqliteRecords::open(&data, "assay serve")?;
    let storage = records.health();
    storage.keep_free(settings.limits.disk.min_free_mib << 20);
    if let Err(error) = records.hold_reserve(settings.limits.disk.records_reserve_mib << 20) {
        let why = ErrorChain(&error);
        eprintln!("assay: warning: {why}; tried again while the server runs");
    }
    let records: Arc<dyn Records> = Arc::new(records);
    prepare_folders(&data)?;
    first_key(&*records, &data).await?;
    let listener = TcpListener::bind(settings.server.listen)
        .await
        .with_context(|| format!("can't listen on {}; is another server there?", settings.server.listen))?;
    let address = listener.local_addr()?;
    tell_isolation(&engine);
    let scenario_files = ScenarioFiles::folder(&data.join(SCENARIOS)).context("the folder of scenario versions")?;
    let kept = records.scenario_digests().await?.into_iter().collect();
    scenario_files.sweep(&kept).context("the folder of scenario versions")?;
    let engine = Arc::new(engine.with_versions(scenario_files.clone()));
    let keeping =
        tokio::spawn(installed_versions::keep(Arc::clone(&engine), Arc::clone(&records), scenario_files.clone(), kept));
    let keyring = Keyring::open(&data.join(SIGNING), &OsEntropy, SystemClock.now())?;
    let stopping_preflights = Cancel::new();
    let preflights = EnginePreflights {
        engine: Arc::clone(&engine),
        limits: IntakeLimits::of_archive(settings.uploads.max_bytes),
        stopping: stopping_preflights.clone(),
    };
    let live: Arc<dyn LiveProgress> = Arc::new(LocalLiveProgress::default());
    let mut state = state(
        settings,
        &engine,
        records,
        &data,
        (keyring.clone(), preflights, scenario_files),
        (storage.clone(), Arc::clone(&live)),
    )?;
    state.settings.second_judge = judge.is_some();
    let readiness = state.readiness.clone();
    let service = WorkerService::start(ServiceOptions {
        engine,
        records: Arc::clone(&state.records),
        queue: Arc::clone(&state.queue),
        clock: Arc::clone(&state.clock),
        blobs: state.blobs.clone(),
        judge,
        servers: state.servers.clone(),
        data,
        keyring,
        live,
        health: storage,
        max_job_bytes: settings.server.max_evidence_mib << 20,
        runtime: tokio::runtime::Handle::current(),
    })?;
    readiness.set(Ok(()));
    // Requests and episodes get their time to end side by side, not one after the other.
    let (stop, stopping) = watch::channel(false);
    let signal = stop_signal()?;
    let watcher = tokio::spawn({
        let stop = stop.clone();
        async move {
            signal.await;
            eprintln!("assay: stopping; episodes that run may end within {} s", DRAIN.as_secs());
            stop.send_replace(true);
        }
    });
    let drained = tokio::spawn({
        let stopping = stopping.clone();
        async move {
            stopped(stopping).await;
            stopping_preflights.cancel();
            tokio::task::spawn_blocking(move || service.drain(DRAIN)).await
        }
    });
    let maintenance = tokio::spawn(assay_api::run_maintenance(state.clone(), stopped(stopping.clone())));
    let webhooks = tokio::spawn(assay_api::deliver_webhooks(state.clone(), stopped(stopping.clone())));
    eprintln!("assay: listening on http://{address}");
    let served = assay_api::serve(listener, state, stopped(stopping)).await;
    // Also when serving failed by itself.
    stop.send_replace(true);
    drained.await??;
    maintenance.await?;
    webhooks.await?;
    keeping.await?;
    watcher.abort();
    Ok(served?)
}

/// Waits until the service is to stop.
async fn stopped(mut stopping: watch::Receiver<bool>) {
    // A sender that is gone means the same.
    drop(stopping.wait_for(|stop| *stop).await);
}

/// Warns the operator of weak isolation.
fn tell_isolation(engine: &Engine) {
    match (engine.runs_policies(), engine.isolation_warning()) {
        (Err(refusal), _) => eprintln!("assay: uploaded policies are refused: {refusal}"),
        (Ok(()), Some(_)) => {
            eprintln!("assay: WARNING: strangers' policies run in weaker isolation ({})", engine.isolation());
        }
        (Ok(()), None) => {}
    }
}

fn data_folder(path: &Path) -> anyhow::Result<PathBuf> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("--data: can't make {}", path.display()))?;
    path.canonicalize().with_context(|| format!("--data: can't open {}", path.display()))
}

async fn first_key(records: &dyn Records, data: &Path) -> anyhow::Result<()> {
    let given = std::env::var("ASSAY_BOOTSTRAP_KEY").ok();
    match bootstrap(records, data, given.as_deref(), &OsEntropy, SystemClock.now()).await? {
        Bootstrap::NotNeeded => {}
        Bootstrap::FromEnvironment => eprintln!("assay: ASSAY_BOOTSTRAP_KEY is the first key"),
        Bootstrap::Written(path) => eprintln!("assay: an admin key was written to {}", path.display()),
    }
    Ok(())
}

fn state(
    settings: &Settings,
    engine: &Arc<Engine>,
    records: Arc<dyn Records>,
    data: &Path,
    (keyring, preflights, scenario_files): (Keyring, EnginePreflights, ScenarioFiles),
    (storage, live): (StorageHealth, Arc<dyn LiveProgress>),
) -> anyhow::Result<AppState> {
    let blobs = Blobs::folder(&data.join(BLOBS)).context("the folder of evidence")?;
    let limits = IntakeLimits::of_archive(settings.uploads.max_bytes);
    let networks = settings.server.webhook_networks.iter().map(|network| network.0).collect();
    let webhook_sender = Arc::new(GuardedSender(AddressGuard::new(networks)));
    let settings = api_settings(settings, engine);
    let (lanes, uploads) = (settings.lanes, settings.runs_uploads);
    let forecast = QueueForecast::with_uploads(Arc::clone(&records), Arc::new(SystemClock), lanes, uploads);
    Ok(AppState {
        replayer: Arc::new(LocalReplayer::new(
            Arc::clone(engine),
            Arc::clone(&records),
            blobs.clone(),
            data.to_owned(),
        )),
        blobs,
        storage,
        signing_keys: Arc::new(PublicKeys(keyring)),
        servers: PolicyServerCredentialsStore::folder(&data.join(SERVERS)).context("the folder of policy servers")?,
        webhook_sender,
        signer: UrlSigner::open(data, &OsEntropy)?,
        events: EventHub::new(Arc::clone(&records), Arc::new(SystemClock), forecast.clone(), live),
        forecast,
        records,
        queue: Arc::new(LocalQueue::new()),
        catalog: Arc::new(StaticCatalog::from(engine.library())),
        intake: Arc::new(ArchiveIntake { engine: Arc::clone(engine), limits }),
        preflights: Arc::new(preflights),
        preflight_slots: AccountSlots::preflights(),
        publisher: Arc::new(EnginePublisher(Arc::clone(engine))),
        publishing_slots: AccountSlots::publications(),
        scenario_files,
        policy_archives: assay_api::PolicyArchives::default(),
        upload_space: UploadSpace::default(),
        rate: RateWindows::default(),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(OsEntropy),
        data: data.to_owned(),
        boards: assay_api::Boards::default(),
        fingerprint: engine.fingerprint().clone(),
        settings,
        metrics: Some(Arc::new(metrics::install()?)),
        readiness: Readiness::default(),
    })
}

/// Returns the API's settings from those of the operator and the engine.
fn api_settings(settings: &Settings, engine: &Engine) -> ApiSettings {
    let lanes = u32::try_from(engine.lanes()).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    let Settings { server, uploads, events, browsers, limits, retention, webhooks, .. } = settings.clone();
    ApiSettings {
        public_url: server.public_url,
        header_s: server.header_s,
        max_connections: server.max_connections,
        drain_s: server.drain_s,
        uploads,
        events,
        browsers,
        second_judge: false,
        rate: limits.rate,
        account: limits.account,
        job: limits.job,
        disk: limits.disk,
        metrics: server.metrics,
        retention,
        webhooks,
        lanes,
        isolation: engine.isolation(),
        runs_uploads: engine.runs_policies().is_ok(),
    }
}

fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
