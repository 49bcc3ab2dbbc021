//! The API's state, with the ports that this process implements.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use assay_api::{
    AccountSlots, ApiSettings, AppState, ConnectionTokens, EventHub, FolderLocks, ModelTransfers, OsEntropy,
    QueueForecast, RateWindows, Readiness, SigningKeys, StaticCatalog, UploadSpace, UrlSigner, WakingQueue,
    WorkerFleet,
};
use assay_model::SystemClock;
use assay_policy::IntakeLimits;
use assay_policy::remote::AddressGuard;
use assay_report::attest::PublishedKeys;
use assay_store::{
    LiveProgress, LocalQueue, ModelFiles, PolicyServerCredentialsStore, Records, ScenarioFiles, Site, StorageHealth,
    TaskFiles,
};
use assay_worker::{Cancel, Engine, Keyring};
use tokio::sync::Semaphore;

use super::auditor::EngineAuditor;
use super::connections::EngineConnections;
use super::file_storage::FileStorage;
use super::intake::EngineIntake;
use super::metrics;
use super::offloaded_replayer::OffloadedReplayer;
use super::preflights::EnginePreflights;
use super::publisher::EnginePublisher;
use super::rendering_signer::KeyringSigner;
use super::replayer::LocalReplayer;
use super::runtime_packs::RuntimePacks;
use super::webhook_sender::GuardedSender;
use super::worker_tasks::WorkerTasks;
use crate::settings::Settings;

/// Number of lanes of workers on other hosts that a server without lanes assumes, to split jobs and to estimate times.
const ASSUMED_LANES: NonZeroU32 = NonZeroU32::new(16).expect("it is not zero");
/// Folder of the policy servers' credentials in the data folder.
const SERVERS: &str = "servers";

/// Publishes the public keys of the worker's signing keys.
#[derive(Debug)]
struct PublicKeys(Keyring);

impl SigningKeys for PublicKeys {
    fn published(&self) -> std::io::Result<PublishedKeys> {
        self.0.published().map_err(std::io::Error::other)
    }
}

/// The parts of the service that exist before the API's state.
pub(super) struct ServiceParts<'a> {
    pub(super) settings: &'a Settings,
    /// Address that the server listens on.
    pub(super) listening: SocketAddr,
    pub(super) engine: &'a Arc<Engine>,
    pub(super) records: Arc<dyn Records>,
    pub(super) data: &'a Path,
    pub(super) keyring: Keyring,
    pub(super) scenario_files: ScenarioFiles,
    pub(super) storage: StorageHealth,
    pub(super) live: LiveProgress,
    pub(super) site: Site,
    pub(super) locks: FolderLocks,
    /// Ends running preflights.
    pub(super) stopping_preflights: Cancel,
    /// True if a second judge is configured.
    pub(super) second_judge: bool,
}

/// Creates the API's state.
pub(super) fn state(parts: ServiceParts<'_>) -> anyhow::Result<AppState> {
    let ServiceParts { settings, engine, records, data, keyring, scenario_files, storage, live, site, locks, .. } =
        parts;
    let FileStorage { blobs, archives } = FileStorage::open(&settings.blobs, data)?;
    let servers = PolicyServerCredentialsStore::folder(&data.join(SERVERS));
    let limits = IntakeLimits::of_archive(settings.uploads.max_bytes);
    let networks = settings.server.webhook_networks.iter().map(|network| network.0).collect();
    let settings = ApiSettings {
        second_judge: parts.second_judge,
        listening: Some(parts.listening),
        ..api_settings(settings, engine)
    };
    let (lanes, uploads) = (settings.lanes, settings.runs_uploads);
    let worker_fleet = WorkerFleet::default();
    let forecast = QueueForecast::with_uploads(Arc::clone(&records), Arc::new(SystemClock), lanes, uploads)
        .with(worker_fleet.clone(), site.clone());
    let stopping = parts.stopping_preflights;
    let model_files = ModelFiles::folder(&data.join(ModelFiles::FOLDER)).context("the folder of models")?;
    let task_files = TaskFiles::folder(&data.join(TaskFiles::FOLDER)).context("the folder of tasks")?;
    let tasks = WorkerTasks {
        tasks: task_files.clone(),
        fleet: worker_fleet.clone(),
        lease: Duration::from_secs(settings.intervals.worker_lease_s.into()),
    };
    let preflights = EnginePreflights {
        engine: Arc::clone(engine),
        limits,
        models: model_files.clone(),
        stopping,
        tasks: tasks.clone(),
    };
    let files = (archives.clone(), model_files.clone());
    let local = LocalReplayer::new(Arc::clone(engine), Arc::clone(&records), blobs.clone(), files);
    let replayer = OffloadedReplayer { local, tasks: tasks.clone() };
    Ok(AppState {
        replayer: Arc::new(replayer),
        blobs,
        archives,
        evidence_usage: assay_api::EvidenceUsage::default(),
        storage,
        tasks: task_files,
        rendering: Arc::new(KeyringSigner { engine: Arc::clone(engine), keyring: keyring.clone() }),
        signing_keys: Arc::new(PublicKeys(keyring)),
        servers: servers.context("the folder of policy servers' credentials")?,
        policy_connections: Arc::new(EngineConnections(Arc::clone(engine))),
        connection_tokens: ConnectionTokens::of(site.clone()),
        webhook_sender: Arc::new(GuardedSender(AddressGuard::new(networks))),
        signer: UrlSigner::open(data, &OsEntropy)?,
        events: EventHub::new(
            Arc::clone(&records),
            Arc::new(SystemClock),
            forecast.clone(),
            live.clone(),
            site.clone(),
        ),
        live,
        auditor: Arc::new(EngineAuditor(Arc::clone(engine))),
        audit_slots: Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from))),
        forecast,
        records,
        queue: Arc::new(WakingQueue::new(Arc::new(LocalQueue::new()), worker_fleet.clone())),
        worker_fleet,
        catalog: Arc::new(StaticCatalog::from(engine.library())),
        intake: Arc::new(EngineIntake {
            engine: Arc::clone(engine),
            limits,
            models: model_files.clone(),
            packs: RuntimePacks::of(data),
        }),
        preflights: Arc::new(preflights),
        preflight_slots: AccountSlots::preflights(site.clone()),
        publisher: Arc::new(EnginePublisher { engine: Arc::clone(engine), tasks }),
        publishing_slots: AccountSlots::publications(site.clone()),
        download_slots: AccountSlots::downloads(site.clone()),
        scenario_files,
        policy_archives: assay_api::PolicyArchives::new(locks.clone()),
        model_files,
        model_transfers: ModelTransfers::new(locks),
        upload_space: UploadSpace::new(site.clone()),
        rate: RateWindows::new(site.clone()),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(OsEntropy),
        data: data.to_owned(),
        boards: assay_api::Boards::default(),
        site,
        fingerprint: engine.fingerprint().clone(),
        settings,
        metrics: Some(Arc::new(metrics::install()?)),
        readiness: Readiness::default(),
    })
}

/// Returns the API's settings, derived from the operator's settings and the engine.
fn api_settings(settings: &Settings, engine: &Engine) -> ApiSettings {
    let local_lanes = u32::try_from(engine.lanes()).unwrap_or(u32::MAX);
    let lanes = NonZeroU32::new(local_lanes).unwrap_or(ASSUMED_LANES);
    let Settings { server, uploads, models, events, browsers, limits, retention, webhooks, workers, intervals, .. } =
        settings.clone();
    ApiSettings {
        public_url: server.public_url,
        listening: None,
        header_s: server.header_s,
        max_connections: server.max_connections,
        drain_s: server.drain_s,
        uploads,
        models,
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
        workers,
        intervals,
        max_evidence_bytes: server.max_evidence_mib << 20,
        lanes,
        local_lanes,
        isolation: engine.isolation(),
        runs_uploads: engine.runs_policies().is_ok(),
    }
}
