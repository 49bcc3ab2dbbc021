//! What every handler can reach.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use assay_model::{Clock, Entropy, Fingerprint, ScenarioCard, ScenarioId};
use assay_scenario::Spec;
use assay_store::{Blobs, Queue, Records, ScenarioFiles, ServerCalls, StorageHealth, StoreError};
use uuid::Uuid;

use crate::http::{ApiError, ErrorCode};
use crate::{
    AccountSlots, ApiSettings, Boards, Catalog, EventHub, Metrics, PolicyArchives, PolicyIntake, Preflights, Publisher,
    QueueForecast, RateWindows, Replayer, SigningKeys, UploadSpace, UrlSigner, WebhookSender,
};

/// The service's parts.
#[derive(Debug, Clone)]
pub struct AppState {
    /// The truth.
    pub records: Arc<dyn Records>,
    /// Wakes workers.
    pub queue: Arc<dyn Queue>,
    /// The scenarios.
    pub catalog: Arc<dyn Catalog>,
    /// Looks into archives.
    pub intake: Arc<dyn PolicyIntake>,
    /// Tries policies.
    pub preflights: Arc<dyn Preflights>,
    /// Who may run a preflight now.
    pub preflight_slots: AccountSlots,
    /// Looks at scenarios that are to be published.
    pub publisher: Arc<dyn Publisher>,
    /// Who may publish now.
    pub publishing_slots: AccountSlots,
    /// What was published.
    pub scenario_files: ScenarioFiles,
    /// Coordinates the acceptance and removal of policy archives.
    pub policy_archives: PolicyArchives,
    /// Bodies on their way to the disk.
    pub upload_space: UploadSpace,
    /// How often each key has asked.
    pub rate: RateWindows,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ids and secrets.
    pub entropy: Arc<dyn Entropy>,
    /// The data folder; see [`crate::prepare_folders`].
    pub data: PathBuf,
    /// The keys that statements are signed with.
    pub signing_keys: Arc<dyn SigningKeys>,
    /// Runs episodes again.
    pub replayer: Arc<dyn Replayer>,
    /// The evidence.
    pub blobs: Blobs,
    /// Whether the disk has room.
    pub storage: StorageHealth,
    /// How the policy servers of jobs are called.
    pub servers: ServerCalls,
    /// Sends messages to the addresses that clients gave with their jobs.
    pub webhook_sender: Arc<dyn WebhookSender>,
    /// Signs addresses of evidence.
    pub signer: UrlSigner,
    /// Passes on what happens to jobs.
    pub events: EventHub,
    /// The leaderboards that were made.
    pub boards: Boards,
    /// What results of this server depend on.
    pub fingerprint: Fingerprint,
    /// What is ahead of jobs.
    pub forecast: QueueForecast,
    /// What the operator chose.
    pub settings: ApiSettings,
    /// What was counted and timed, if it is.
    pub metrics: Option<Arc<dyn Metrics>>,
    /// Whether `/readyz` says yes.
    pub readiness: Readiness,
}

/// As handlers get it.
pub(crate) type App = Arc<AppState>;

impl AppState {
    /// A new id (UUIDv7): sorts by time.
    pub(crate) fn new_id(&self) -> Uuid {
        let mut random = [0; 10];
        self.entropy.fill(&mut random);
        let millis = u64::try_from(self.clock.now().as_millisecond()).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    /// The scenario of that name, whoever wrote it, as policies are evaluated on it now.
    pub(crate) async fn scenario(&self, id: &ScenarioId) -> Result<Option<Arc<ScenarioCard>>, StoreError> {
        if let Some(card) = self.catalog.get(id) {
            return Ok(Some(card));
        }
        let found = self.records.community_scenario(id).await?;
        Ok(found.filter(|scenario| scenario.deleted_at.is_none()).map(|scenario| Arc::new(scenario.card)))
    }

    /// The spaces, rates and limits of a scenario. Reads the files of one that an account published.
    ///
    /// # Errors
    /// CONFLICT: the published version can't be used here any more.
    pub(crate) async fn spec(&self, card: &ScenarioCard) -> Result<Arc<Spec>, ApiError> {
        if let Some(spec) = self.catalog.spec(&card.id) {
            return Ok(spec);
        }
        let (publisher, id, digest) = (Arc::clone(&self.publisher), card.id.clone(), card.digest.clone());
        let read = tokio::task::spawn_blocking(move || publisher.spec(&id, &digest)).await;
        let spec = read.map_err(|e| ApiError::internal("reading a scenario panicked", &e))?;
        spec.map(Arc::new).map_err(|why| ApiError::new(ErrorCode::Conflict, why))
    }
}

/// Whether the service takes work; shared by all its clones. Not ready at first.
#[derive(Debug, Clone)]
pub struct Readiness(Arc<RwLock<Result<(), &'static str>>>);

impl Default for Readiness {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(Err("starting"))))
    }
}

impl Readiness {
    /// From now on `/readyz` answers 200, or 503 with this reason.
    pub fn set(&self, state: Result<(), &'static str>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// What was set last.
    ///
    /// # Errors
    /// The reason why not.
    pub fn get(&self) -> Result<(), &'static str> {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
