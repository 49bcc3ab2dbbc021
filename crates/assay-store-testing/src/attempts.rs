//! Attempt notes: facts that outlive an attempt at an episode.

use assay_model::{AttemptNote, Level, ReplacedAttempt, ReplacementReason, Violation};
use assay_store::{ExcludedShards, Lease, MAX_ATTEMPT_NOTES, Records, ReturnOutcome, ShardRequest};

use super::fixtures::{LEASE, at, episode, job};
use super::shards::claim;

fn violated(episode: u32) -> AttemptNote {
    let violation = Violation {
        clause: "keep_in".into(),
        level: Level::Critical,
        start_s: 1.0,
        end_s: 1.002,
        onset_value: None,
        peak_s: None,
        value: Some(2.5),
        limit: 2.4,
        unit: "m".into(),
        robustness: Some(-0.1),
        involved: Vec::new(),
    };
    AttemptNote::Violated { episode, violation, origin: None }
}

fn replaced(episode: u32, evidence: &str) -> AttemptNote {
    AttemptNote::Replaced(ReplacedAttempt::new(episode, ReplacementReason::LaneDied, evidence))
}

pub(super) async fn a_violation_outlives_the_worker_that_saw_it(records: &dyn Records) {
    records.create_job(job(1, "lab", 3, 3)).await.unwrap();
    let first = claim(records).await;
    assert!(first.notes.is_empty());
    records.record_episode(first.fence, episode(0), at(2)).await.unwrap();
    assert_eq!(records.note_attempt(first.fence, violated(1)).await.unwrap(), Lease::Held);
    // The worker is gone.
    records.reconcile(at(100)).await.unwrap();
    let second = records.claim_shard(&ShardRequest::new("other"), at(100), LEASE).await.unwrap().unwrap();
    let [noted, AttemptNote::Replaced(lapse)] = &second.notes[..] else { panic!("{:?}", second.notes) };
    assert_eq!(noted, &violated(1));
    assert_eq!((lapse.episode, lapse.reason), (1, ReplacementReason::LeaseExpired));
    assert!(lapse.evidence.contains("lease of w "), "{lapse:?}");
    // A worker that lost the lease cannot add notes, nor can notes be added to episodes of other shards.
    assert_eq!(records.note_attempt(first.fence, violated(2)).await.unwrap(), Lease::Lost);
    assert_eq!(records.note_attempt(second.fence, violated(3)).await.unwrap(), Lease::Lost);
    // The notes of an episode are removed with its result, which contains them.
    records.record_episode(second.fence, episode(1), at(101)).await.unwrap();
    records.note_attempt(second.fence, replaced(2, "signal 9")).await.unwrap();
    records.release_shard(second.fence).await.unwrap();
    let third = records.claim_shard(&ShardRequest::new("third"), at(102), LEASE).await.unwrap().unwrap();
    assert_eq!(third.notes, [replaced(2, "signal 9")], "leaving is noted by the worker itself");
}

pub(super) async fn notes_are_bounded_and_violations_are_always_kept(records: &dyn Records) {
    records.create_job(job(1, "lab", 1, 1)).await.unwrap();
    let held = claim(records).await;
    for number in 0..MAX_ATTEMPT_NOTES + 3 {
        records.note_attempt(held.fence, replaced(0, &number.to_string())).await.unwrap();
    }
    records.note_attempt(held.fence, violated(0)).await.unwrap();
    records.release_shard(held.fence).await.unwrap();
    let notes = claim(records).await.notes;
    assert_eq!(notes.len(), MAX_ATTEMPT_NOTES as usize + 1);
    assert_eq!(notes.last(), Some(&violated(0)));
}

pub(super) async fn a_postponed_shard_waits_and_counts_no_failure(records: &dyn Records) {
    records.create_job(job(1, "lab", 1, 1)).await.unwrap();
    records.create_job(job(2, "lab", 1, 1)).await.unwrap();
    let postponed = claim(records).await;
    let answer = records.postpone_shard(postponed.fence, at(50), "no bucket").await.unwrap();
    assert_eq!(answer, ReturnOutcome::Requeued);
    let other = records.claim_shard(&ShardRequest::new("w"), at(49), LEASE).await.unwrap().unwrap();
    assert_ne!(other.fence.job_id, postponed.fence.job_id, "others are not held up");
    assert!(records.claim_shard(&ShardRequest::new("w"), at(49), LEASE).await.unwrap().is_none());
    let again = records.claim_shard(&ShardRequest::new("w"), at(50), LEASE).await.unwrap().unwrap();
    assert_eq!((again.fence.job_id, again.failures), (postponed.fence.job_id, 0));
    assert_eq!(records.postpone_shard(postponed.fence, at(99), "late").await.unwrap(), ReturnOutcome::Fenced);
}

pub(super) async fn shards_of_other_accounts_can_be_asked_for(records: &dyn Records) {
    for (number, account) in [(1, "asleep"), (2, "asleep"), (3, "lab")] {
        records.create_job(job(number, account, 1, 1)).await.unwrap();
    }
    let but = ["asleep".parse().unwrap()];
    let found = records.claim_shard(&ShardRequest::new("w").excluding(&but), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(found.account.as_str(), "lab");
    assert!(records.claim_shard(&ShardRequest::new("w").excluding(&but), at(1), LEASE).await.unwrap().is_none());
    assert!(records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().is_some());
}

pub(super) async fn a_claim_takes_no_excluded_shard(records: &dyn Records) {
    let (first, second) = (job(1, "lab", 2, 1), job(2, "lab", 1, 1));
    let [one, two] = [&first, &second].map(|job| job.header.job_id);
    records.create_job(first).await.unwrap();
    records.create_job(second).await.unwrap();
    let without = |excluded_shards| ShardRequest { excluded_shards, ..ShardRequest::new("w") };
    let shard = |job, shard| ExcludedShards { job, shard };
    let claimed = async |request: ShardRequest| {
        let claim = records.claim_shard(&request, at(1), LEASE).await.unwrap();
        claim.map(|claim| (claim.fence.job_id, claim.fence.shard))
    };
    let all = vec![shard(one, None), shard(two, None)];
    assert_eq!(claimed(without(all.clone())).await, None);
    assert_eq!(claimed(without(vec![shard(one, Some(0)), shard(two, None)])).await, Some((one, 1)));
    assert_eq!(claimed(without(vec![shard(one, None)])).await, Some((two, 0)));
    assert_eq!(claimed(without(vec![shard(one, Some(0))])).await, None);
    assert_eq!(claimed(without(vec![shard(one, Some(1)), shard(two, None)])).await, Some((one, 0)));
}
