//! Keeps a worker on another host from holding a job up: one whose claims of a job end without a result is given that
//! job's shards more and more rarely, so that others can run them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use assay_model::JobId;
use assay_store::{ExcludedShards, WorkerName};
use jiff::{SignedDuration, Timestamp};

/// Maximum number of entries of each kind; above it all are forgotten.
const MAX_ENTRIES: usize = 10_000;
/// Pause after the first claim without a result, in seconds; doubled with each further one.
const FIRST_S: i64 = 1;
/// Maximum pause, in seconds.
const LONGEST_S: i64 = 300;
/// Number of claims without a result that a failure counts as.
const FAILURE_CLAIMS: u32 = 5;
/// Time for which a worker is not given a shard whose episode it reported as failed, in seconds.
const CONFIRMATION_S: i64 = 300;

/// The pauses of all workers.
#[derive(Debug, Default)]
pub(crate) struct ClaimPauses {
    claims: HashMap<(WorkerName, JobId), ClaimsWithoutResult>,
    /// End of the time in which others are to confirm a failure that the worker reported.
    confirmations: HashMap<(WorkerName, ExcludedShards), Timestamp>,
}

/// A worker's claims of a job since its last result for it.
#[derive(Debug)]
struct ClaimsWithoutResult {
    count: u32,
    last: Timestamp,
}

impl ClaimPauses {
    /// Counts a claim.
    pub(crate) fn claimed(&mut self, worker: &WorkerName, job: JobId, now: Timestamp) {
        self.add(worker, job, 1, now);
    }

    /// Counts a failure of a claimed shard.
    pub(crate) fn failed(&mut self, worker: &WorkerName, job: JobId, now: Timestamp) {
        self.add(worker, job, FAILURE_CLAIMS, now);
    }

    fn add(&mut self, worker: &WorkerName, job: JobId, count: u32, now: Timestamp) {
        if self.claims.len() >= MAX_ENTRIES {
            self.claims.clear();
        }
        let entry = self.claims.entry((worker.clone(), job)).or_insert(ClaimsWithoutResult { count: 0, last: now });
        (entry.count, entry.last) = (entry.count.saturating_add(count), now);
    }

    /// Forgets a worker's claims of a job: it has sent a result.
    pub(crate) fn produced(&mut self, worker: &WorkerName, job: JobId) {
        self.claims.remove(&(worker.clone(), job));
    }

    /// Leaves a shard to others for a while, also to those who left it to this worker before: otherwise a shard of
    /// several failures would wait for nobody. Returns false if it was left to others before.
    pub(crate) fn leave_to_others(&mut self, worker: &WorkerName, shard: ExcludedShards, now: Timestamp) -> bool {
        self.confirmations.retain(|(name, other), _| name == worker || *other != shard);
        if self.confirmations.len() >= MAX_ENTRIES {
            self.confirmations.clear();
        }
        let until = now.saturating_add(SignedDuration::from_secs(CONFIRMATION_S)).unwrap_or(now);
        match self.confirmations.entry((worker.clone(), shard)) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(until);
                true
            }
        }
    }

    /// Ends the times in which others are to confirm failures in a shard: they have.
    pub(crate) fn confirmed(&mut self, shard: ExcludedShards) {
        self.confirmations.retain(|(_, other), _| *other != shard);
    }

    /// Returns the shards that a worker is not to be given now, while it holds `held` shards in all.
    pub(crate) fn excluded(&self, worker: &WorkerName, held: u32, now: Timestamp) -> Vec<ExcludedShards> {
        let jobs = self.claims.iter().filter(|((name, _), claims)| name == worker && claims.pause(held) > now);
        let jobs = jobs.map(|((_, job), _)| ExcludedShards { job: *job, shard: None });
        let shards = self.confirmations.iter().filter(|((name, _), until)| name == worker && **until > now);
        jobs.chain(shards.map(|((_, shard), _)| *shard)).collect()
    }
}

impl ClaimsWithoutResult {
    /// Returns the end of the pause. Claims that the worker may still hold count for nothing.
    fn pause(&self, held: u32) -> Timestamp {
        let Some(without) = self.count.saturating_sub(held).checked_sub(1) else { return self.last };
        let seconds = FIRST_S.checked_shl(without).filter(|seconds| (1..LONGEST_S).contains(seconds));
        self.last.saturating_add(SignedDuration::from_secs(seconds.unwrap_or(LONGEST_S))).unwrap_or(self.last)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn worker() -> WorkerName {
        WorkerName::parse("gpu-07").unwrap()
    }

    fn job(number: u128) -> JobId {
        JobId(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn claims_without_a_result_get_rarer_until_there_is_one() {
        let mut pauses = ClaimPauses::default();
        let whole = ExcludedShards { job: job(1), shard: None };
        let other = WorkerName::parse("other").unwrap();
        let mut now = 0;
        for pause in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            pauses.claimed(&worker(), job(1), at(now));
            assert_eq!(pauses.excluded(&worker(), 0, at(now + pause - 1)), [whole], "{pause}");
            assert_eq!(pauses.excluded(&worker(), 0, at(now + pause)), [], "{pause}");
            assert_eq!(pauses.excluded(&other, 0, at(now)), []);
            now += pause;
        }
        pauses.produced(&worker(), job(1));
        pauses.claimed(&worker(), job(1), at(now));
        assert_eq!(pauses.excluded(&worker(), 0, at(now + 1)), []);
    }

    #[test]
    fn shards_that_are_held_are_no_sign_and_a_failure_counts_more() {
        let mut pauses = ClaimPauses::default();
        (0..8).for_each(|_| pauses.claimed(&worker(), job(1), at(0)));
        assert_eq!(pauses.excluded(&worker(), 8, at(0)), [], "eight lanes begin");
        assert_eq!(pauses.excluded(&worker(), 7, at(0)).len(), 1, "one was handed back");
        let mut pauses = ClaimPauses::default();
        pauses.claimed(&worker(), job(1), at(0));
        pauses.failed(&worker(), job(1), at(0));
        assert_eq!(pauses.excluded(&worker(), 0, at(31)).len(), 1);
        assert_eq!(pauses.excluded(&worker(), 0, at(32)), []);
    }

    #[test]
    fn a_shard_is_left_to_others_once() {
        let (mut pauses, shard) = (ClaimPauses::default(), ExcludedShards { job: job(1), shard: Some(3) });
        assert!(pauses.leave_to_others(&worker(), shard, at(0)));
        assert!(!pauses.leave_to_others(&worker(), shard, at(10)));
        assert_eq!(pauses.excluded(&worker(), 0, at(299)), [shard]);
        assert_eq!(pauses.excluded(&worker(), 0, at(300)), [], "nobody confirmed it in time");
        assert!(!pauses.leave_to_others(&worker(), shard, at(300)));
        pauses.confirmed(shard);
        assert!(pauses.leave_to_others(&worker(), shard, at(300)));
        let other = WorkerName::parse("other").unwrap();
        assert!(pauses.leave_to_others(&other, shard, at(301)));
        assert_eq!(pauses.excluded(&worker(), 0, at(301)), [], "one of them has to run it");
        assert_eq!(pauses.excluded(&other, 0, at(301)), [shard]);
    }
}
