//! The application state that handlers share.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use assay_model::{Clock, Entropy, Fingerprint, JobId, ScenarioCard, ScenarioId, Sha256Digest};
use assay_scenario::Spec;
use assay_store::{
    ArchiveFiles, Blobs, LiveProgress, ModelFiles, PolicyServerCredentialsStore, Queue, Records, ScenarioFiles, Site,
    StorageHealth, StoreError, TaskFiles, WorkerName,
};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::http::{ApiError, ErrorCode};
use crate::{
    AccountSlots, ApiSettings, Boards, Catalog, ConnectionTokens, EpisodeAuditor, EventHub, EvidenceUsage, Metrics,
    ModelTransfers, PolicyArchives, PolicyConnections, PolicyIntake, Preflights, Publisher, QueueForecast, RateWindows,
    RenderingSigner, Replayer, SigningKeys, UploadSpace, UrlSigner, WebhookSender, WorkerFleet,
};

/// The components of the service.
#[derive(Debug, Clone)]
pub struct AppState {
    /// The durable source of truth.
    pub records: Arc<dyn Records>,
    /// Wakes workers.
    pub queue: Arc<dyn Queue>,
    /// The curated scenarios.
    pub catalog: Arc<dyn Catalog>,
    /// Checks policies before they are accepted.
    pub intake: Arc<dyn PolicyIntake>,
    /// Runs preflights.
    pub preflights: Arc<dyn Preflights>,
    /// Limits concurrent preflights.
    pub preflight_slots: AccountSlots,
    /// Checks scenarios that are to be published.
    pub publisher: Arc<dyn Publisher>,
    /// Limits concurrent publications.
    pub publishing_slots: AccountSlots,
    /// Limits concurrent downloads of archives.
    pub download_slots: AccountSlots,
    /// The files of published scenarios.
    pub scenario_files: ScenarioFiles,
    /// The archives of accepted policies.
    pub archives: ArchiveFiles,
    /// Coordinates the acceptance and removal of policy archives.
    pub policy_archives: PolicyArchives,
    /// The files of models.
    pub model_files: ModelFiles,
    /// The uploads of models in progress.
    pub model_transfers: ModelTransfers,
    /// Disk space reserved for uploads.
    pub upload_space: UploadSpace,
    /// The rate limit windows of the keys.
    pub rate: RateWindows,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness for ids and secrets.
    pub entropy: Arc<dyn Entropy>,
    /// The data folder; see [`crate::prepare_folders`].
    pub data: PathBuf,
    /// The keys that statements are signed with.
    pub signing_keys: Arc<dyn SigningKeys>,
    /// Runs episodes again.
    pub replayer: Arc<dyn Replayer>,
    /// The evidence.
    pub blobs: Blobs,
    /// The last measurement of the evidence.
    pub evidence_usage: EvidenceUsage,
    /// The health of the storage.
    pub storage: StorageHealth,
    /// The credentials of the policy servers of jobs.
    pub servers: PolicyServerCredentialsStore,
    /// The connections that policies open.
    pub policy_connections: Arc<dyn PolicyConnections>,
    /// The tokens for such connections.
    pub connection_tokens: ConnectionTokens,
    /// Sends webhooks.
    pub webhook_sender: Arc<dyn WebhookSender>,
    /// Signs URLs of evidence.
    pub signer: UrlSigner,
    /// Receives the progress of episodes.
    pub live: LiveProgress,
    /// The servers that share the records and the data folder.
    pub site: Site,
    /// The workers on other hosts.
    pub worker_fleet: WorkerFleet,
    /// The tasks that clients wait for and workers do.
    pub tasks: TaskFiles,
    /// Signs what they rendered.
    pub rendering: Arc<dyn RenderingSigner>,
    /// Audits the episodes that they ran.
    pub auditor: Arc<dyn EpisodeAuditor>,
    /// Limits concurrent audits.
    pub audit_slots: Arc<Semaphore>,
    /// Passes on the events of jobs.
    pub events: EventHub,
    /// The cached leaderboards.
    pub boards: Boards,
    /// The engine and libraries that results of this server depend on.
    pub fingerprint: Fingerprint,
    /// The forecast of the queue.
    pub forecast: QueueForecast,
    /// The operator's settings.
    pub settings: ApiSettings,
    /// The metrics, if they are enabled.
    pub metrics: Option<Arc<dyn Metrics>>,
    /// The state that `/readyz` reports.
    pub readiness: Readiness,
}

/// The shared state as handlers receive it.
pub(crate) type App = Arc<AppState>;

impl AppState {
    /// Returns true if an episode of the job waits for its policy to connect, at any server of the site.
    pub(crate) fn awaits_policy(&self, job: JobId) -> bool {
        let others = self.site.others();
        self.policy_connections.is_awaited(job) || others.iter().any(|server| server.awaited.contains(&job))
    }

    /// Returns the number of lanes of this server and of the others of its site.
    pub(crate) fn server_lanes(&self) -> u32 {
        self.site.others().iter().map(|server| server.lanes).fold(self.settings.local_lanes, u32::saturating_add)
    }

    /// Returns the digests of the runtimes that workers can fetch here.
    pub(crate) async fn offered_runtimes(&self) -> HashSet<Sha256Digest> {
        let intake = Arc::clone(&self.intake);
        let listed = tokio::task::spawn_blocking(move || intake.runtimes()).await.unwrap_or_default();
        listed.iter().map(|runtime| runtime.sha256).collect()
    }

    /// Requeues the tasks that a worker has, because it has restarted or was taken out of service. A task that is
    /// missed here is requeued when it is not renewed in time.
    pub(crate) fn give_back_tasks(&self, worker: &WorkerName) {
        match self.tasks.give_back_all(worker) {
            Ok(0) => {}
            Ok(number) => tracing::info!(%worker, number, "tasks of a worker are queued again"),
            Err(error) => tracing::error!(%error, %worker, "could not queue the tasks of a worker again"),
        }
    }

    /// Creates an id (UUIDv7), which sorts by time.
    pub(crate) fn new_id(&self) -> Uuid {
        let mut random = [0; 10];
        self.entropy.fill(&mut random);
        let millis = u64::try_from(self.clock.now().as_millisecond()).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    /// Returns the scenario with this id, curated or published, in the version that policies are evaluated on now.
    pub(crate) async fn scenario(&self, id: &ScenarioId) -> Result<Option<Arc<ScenarioCard>>, StoreError> {
        if let Some(card) = self.catalog.get(id) {
            return Ok(Some(card));
        }
        let found = self.records.community_scenario(id).await?;
        Ok(found.filter(|scenario| scenario.deleted_at.is_none()).map(|scenario| Arc::new(scenario.card)))
    }

    /// Returns the spaces, rates and limits of a scenario. Reads the files of a published one.
    ///
    /// # Errors
    /// CONFLICT: the published version can no longer be used here.
    pub(crate) async fn spec(&self, card: &ScenarioCard) -> Result<Arc<Spec>, ApiError> {
        match self.catalog.spec(&card.id) {
            Some(spec) => Ok(spec),
            None => self.version_spec(&card.id, card.digest).await,
        }
    }

    /// Like [`Self::spec`], of one version, which may be older than the one that policies are evaluated on now.
    pub(crate) async fn version_spec(&self, id: &ScenarioId, digest: Sha256Digest) -> Result<Arc<Spec>, ApiError> {
        if let Some(spec) = self.catalog.spec(id).filter(|spec| spec.digest == digest) {
            return Ok(spec);
        }
        let (publisher, id) = (Arc::clone(&self.publisher), id.clone());
        let read = tokio::task::spawn_blocking(move || publisher.spec(&id, digest)).await;
        let spec = read.map_err(|e| ApiError::internal("reading a scenario panicked", &e))?;
        spec.map(Arc::new).map_err(|why| ApiError::new(ErrorCode::Conflict, why))
    }
}

/// True if the service accepts requests; shared by all its clones. Not ready at first.
#[derive(Debug, Clone)]
pub struct Readiness(Arc<RwLock<Result<(), &'static str>>>);

impl Default for Readiness {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(Err("starting"))))
    }
}

impl Readiness {
    /// Sets the response of `/readyz` to 200, or to 503 with this reason.
    pub fn set(&self, state: Result<(), &'static str>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Returns the state that was set last.
    ///
    /// # Errors
    /// The reason why the service is not ready.
    pub fn get(&self) -> Result<(), &'static str> {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
