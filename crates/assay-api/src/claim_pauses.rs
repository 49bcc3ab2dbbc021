//! Keeps a worker on another host from holding a job up: one whose claims of a job end without a result is given that
//! job's shards more and more rarely, so that others can run them. The counts are in the records.

use assay_model::JobId;
use assay_store::{ClaimsWithoutResult, ExcludedShards, Records, StoreError, WorkerName};
use jiff::{SignedDuration, Timestamp};

/// Pause after the first claim without a result, in seconds; doubled with each further one.
const FIRST_S: i64 = 1;
/// Maximum pause, in seconds.
const LONGEST_S: i64 = 300;
/// Number of claims without a result that a failure counts as.
const FAILURE_CLAIMS: u32 = 5;
/// Time for which a worker is not given a shard whose episode it reported as failed, in seconds.
const CONFIRMATION_S: i64 = 300;

/// The pauses of all workers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimPauses<'a>(pub(crate) &'a dyn Records);

impl ClaimPauses<'_> {
    /// Counts a claim.
    pub(crate) async fn claimed(&self, worker: &WorkerName, job: JobId, now: Timestamp) -> Result<(), StoreError> {
        self.0.count_worker_claims(worker, job, 1, now).await
    }

    /// Counts a failure of a claimed shard.
    pub(crate) async fn failed(&self, worker: &WorkerName, job: JobId, now: Timestamp) -> Result<(), StoreError> {
        self.0.count_worker_claims(worker, job, FAILURE_CLAIMS, now).await
    }

    /// Leaves a shard to others for a while. Returns false if it was left to others before.
    pub(crate) async fn leave_to_others(
        &self,
        worker: &WorkerName,
        (job, shard): (JobId, u32),
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let until = now.saturating_add(SignedDuration::from_secs(CONFIRMATION_S)).unwrap_or(now);
        self.0.leave_shard_to_others(worker, job, shard, until).await
    }

    /// Returns the shards that a worker is not to be given now, while it holds `held` shards in all.
    pub(crate) async fn excluded(
        &self,
        worker: &WorkerName,
        held: u32,
        now: Timestamp,
    ) -> Result<Vec<ExcludedShards>, StoreError> {
        let conduct = self.0.conduct_of_worker(worker, now).await?;
        let jobs = conduct.claims.iter().filter(|claims| pause_end(claims, held) > now);
        Ok(jobs.map(|claims| ExcludedShards { job: claims.job, shard: None }).chain(conduct.left).collect())
    }
}

/// Returns the end of the pause. Claims that the worker may still hold count for nothing.
fn pause_end(claims: &ClaimsWithoutResult, held: u32) -> Timestamp {
    let Some(without) = claims.count.saturating_sub(held).checked_sub(1) else { return claims.last };
    let seconds = FIRST_S.checked_shl(without).filter(|seconds| (1..LONGEST_S).contains(seconds));
    claims.last.saturating_add(SignedDuration::from_secs(seconds.unwrap_or(LONGEST_S))).unwrap_or(claims.last)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Returns the pause after `count` claims, while `held` shards are held, in seconds.
    fn pause_s(count: u32, held: u32) -> i64 {
        let last = Timestamp::from_second(1000).unwrap();
        let claims = ClaimsWithoutResult { job: JobId(uuid::Uuid::from_u128(1)), count, last };
        pause_end(&claims, held).as_second() - 1000
    }

    #[test]
    fn claims_without_a_result_get_rarer_until_there_is_one() {
        let pauses: Vec<i64> = (0..12).chain([u32::MAX]).map(|count| pause_s(count, 0)).collect();
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    }

    #[test]
    fn shards_that_are_held_are_no_sign_and_a_failure_counts_more() {
        assert_eq!((pause_s(8, 8), pause_s(8, 7)), (0, 1), "eight lanes begin, one shard was handed back");
        assert_eq!(pause_s(1 + FAILURE_CLAIMS, 0), 32);
    }
}
