//! Space for evidence that workers on other hosts send, under any claim: what no result refers to stays until the job
//! ends. The records count it for all servers; each server reserves it there in blocks, so that few files cost a write.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_model::JobId;
use assay_store::{Records, StoreError, WorkerName};

/// Number of blocks of the space for a job, and maximum size of one, in bytes. What a server has not used of its last
/// block when it ends is lost for the worker.
const BLOCKS: u64 = 32;
const MAX_BLOCK: u64 = 64 << 20;
/// Maximum number of entries; above it all are forgotten.
const MAX_ENTRIES: usize = 10_000;

/// A worker, and the job that it sends evidence for.
type Payer<'a> = (&'a WorkerName, JobId);

/// The reserved bytes that are not used yet.
#[derive(Debug, Default)]
pub(crate) struct EvidenceAllowances(Mutex<HashMap<(WorkerName, JobId), u64>>);

impl EvidenceAllowances {
    /// Takes space for evidence. Returns false, and takes nothing, if the worker's evidence of the job would exceed
    /// `most` bytes.
    pub(crate) async fn take(
        &self,
        records: &dyn Records,
        (worker, job): Payer<'_>,
        bytes: u64,
        most: u64,
    ) -> Result<bool, StoreError> {
        if self.take_reserved((worker, job), bytes) {
            return Ok(true);
        }
        let block = (most / BLOCKS).min(MAX_BLOCK).max(bytes);
        for reserved in [block, bytes] {
            if records.reserve_worker_evidence(worker, job, reserved, most).await? {
                self.give_back((worker, job), reserved - bytes);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes back what was taken for evidence that was not stored.
    pub(crate) fn give_back(&self, (worker, job): Payer<'_>, bytes: u64) {
        let mut reserved = self.lock();
        if reserved.len() >= MAX_ENTRIES {
            reserved.clear();
        }
        let left = reserved.entry((worker.clone(), job)).or_default();
        *left = left.saturating_add(bytes);
    }

    fn take_reserved(&self, (worker, job): Payer<'_>, bytes: u64) -> bool {
        let mut reserved = self.lock();
        let Some(left) = reserved.get_mut(&(worker.clone(), job)) else { return false };
        let rest = left.checked_sub(bytes);
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(WorkerName, JobId), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
