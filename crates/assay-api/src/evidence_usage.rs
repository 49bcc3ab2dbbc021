//! The size of the evidence of each job.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::JobId;
use assay_store::{BlobError, Blobs, Records, StoreError};
use jiff::{SignedDuration, Timestamp};

/// Age up to which a measurement by the records is used again: they read all jobs for it.
const MAX_AGE: SignedDuration = SignedDuration::from_secs(60);

/// The last measurement by the records; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct EvidenceUsage(Arc<Mutex<Option<RecordedSizes>>>);

#[derive(Debug, Clone)]
struct RecordedSizes {
    at: Timestamp,
    sizes: Arc<HashMap<JobId, u64>>,
}

/// The evidence could not be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("could not measure the folder of evidence")]
    Blobs(#[from] BlobError),
    #[error("could not read the sizes in the records")]
    Records(#[from] StoreError),
}

impl EvidenceUsage {
    /// Returns the size of each job's evidence in bytes: as measured on the disk, or, if it is in an object store, as
    /// recorded, which is before packing and at most a minute old.
    pub(crate) async fn measure(
        &self,
        blobs: &Blobs,
        records: &dyn Records,
        now: Timestamp,
    ) -> Result<Arc<HashMap<JobId, u64>>, UsageError> {
        if let Some(sizes) = blobs.usage().await? {
            return Ok(Arc::new(sizes));
        }
        let known = self.last().clone();
        if let Some(known) = known.filter(|known| now.duration_since(known.at) < MAX_AGE) {
            return Ok(known.sizes);
        }
        let sizes = Arc::new(records.evidence_sizes().await?);
        *self.last() = Some(RecordedSizes { at: now, sizes: Arc::clone(&sizes) });
        Ok(sizes)
    }

    fn last(&self) -> MutexGuard<'_, Option<RecordedSizes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
