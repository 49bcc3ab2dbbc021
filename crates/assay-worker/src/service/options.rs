//! The dependencies and settings of a worker.

use std::sync::Arc;

use assay_judge::Judge;
use assay_model::Clock;
use assay_store::{
    ArchiveFiles, Blobs, LiveProgress, ModelFiles, PolicyServerCredentialsStore, Queue, Records, Site, StorageHealth,
};
use jiff::SignedDuration;
use tokio::runtime::Handle;

use crate::{Engine, Keyring};

/// The dependencies and settings of a service.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// Runs episodes.
    pub engine: Arc<Engine>,
    /// The durable source of truth.
    pub records: Arc<dyn Records>,
    /// Wakes lanes.
    pub queue: Arc<dyn Queue>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The archives of policies.
    pub archives: ArchiveFiles,
    /// Signs the results.
    pub keyring: Keyring,
    /// Storage for evidence.
    pub blobs: Blobs,
    /// Reviews episodes before a job is concluded, if configured.
    pub judge: Option<Judge>,
    /// Duration of a lease without renewal.
    pub lease: SignedDuration,
    /// Maximum size of a job's evidence in bytes; beyond it images are left out.
    pub max_evidence_bytes: u64,
    /// Receives the progress of episodes.
    pub live: LiveProgress,
    /// The servers that share the records, of which one does the upkeep.
    pub site: Site,
    /// Credentials for the policy servers of jobs.
    pub servers: PolicyServerCredentialsStore,
    /// The files of models.
    pub models: ModelFiles,
    /// Health of storage; notified when files cannot be stored.
    pub health: StorageHealth,
    /// Runtime of the records.
    pub runtime: Handle,
}
