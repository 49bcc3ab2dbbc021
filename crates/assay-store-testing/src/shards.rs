//! Shards: claimed, recorded, returned.

use std::collections::BTreeSet;

use assay_model::{Blame, JobStatus};
use assay_store::{
    Claim, JobState, MAX_RETRIES, NewJob, RecordOutcome, Records, ReturnOutcome, ShardKind, ShardRequest, StoreError,
};

use super::fixtures::{LEASE, at, episode, job};

pub(super) async fn claim(records: &dyn Records) -> Claim {
    records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap()
}

pub(super) async fn cover_each_episode_once(records: &dyn Records) {
    records.create_job(job(1, "lab", 7, 3)).await.unwrap();
    let mut seen = vec![];
    for shard in 0..3 {
        let claim = claim(records).await;
        assert_eq!((claim.fence.shard, claim.fence.attempt), (shard, 1), "the oldest first");
        assert_eq!(claim.header, job(1, "lab", 7, 3).header);
        assert_eq!(claim.policy_path.as_deref(), Some("policies/1.zip"));
        seen.extend(claim.episodes);
    }
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
    assert!(records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().is_none());
}

pub(super) async fn run_a_job_to_judging(records: &dyn Records) {
    let id = job(1, "lab", 3, 2).header.job_id;
    records.create_job(job(1, "lab", 3, 2)).await.unwrap();
    let (first, second) = (claim(records).await, claim(records).await);
    assert_eq!(records.job(None, id).await.unwrap().unwrap().state, JobState::Running { started_at: at(1) });
    let record = async |claim: &Claim, index| records.record_episode(claim.fence, episode(index), at(2)).await.unwrap();
    assert_eq!(record(&second, 2).await, RecordOutcome::New { left_in_shard: 0, left_in_job: 2 });
    assert_eq!(record(&first, 1).await, RecordOutcome::New { left_in_shard: 1, left_in_job: 1 });
    assert!(records.claim_conclusion("w", at(2), LEASE).await.unwrap().is_none(), "an episode is missing");
    assert_eq!(record(&first, 0).await, RecordOutcome::New { left_in_shard: 0, left_in_job: 0 });
    let found = records.job(None, id).await.unwrap().unwrap();
    assert_eq!((found.state, found.episodes_done), (JobState::Judging { started_at: at(1) }, 3));
    let all = [episode(0), episode(1), episode(2)];
    assert_eq!(records.episodes(id, 0, 100).await.unwrap(), all);
    assert_eq!(records.episodes(id, 1, 1).await.unwrap(), all[1..2]);
    let [owner, stranger] = ["lab", "other"].map(|name| name.parse().unwrap());
    for reader in [None, Some(&owner)] {
        let (found, first) = records.job_with_episodes(reader, id, 2).await.unwrap().unwrap();
        assert_eq!((found.episodes_done, &first[..]), (3, &all[..2]));
    }
    assert!(records.job_with_episodes(Some(&stranger), id, 2).await.unwrap().is_none());
    assert_eq!(records.counts().await.unwrap().judging, 1);
}

pub(super) async fn are_fair_between_accounts(records: &dyn Records) {
    records.create_job(job(1, "greedy", 4, 1)).await.unwrap();
    records.create_job(job(2, "greedy", 4, 1)).await.unwrap();
    records.create_job(job(3, "modest", 2, 1)).await.unwrap();
    let mut order = vec![];
    for _ in 0..5 {
        order.push(claim(records).await.account.to_string());
    }
    assert_eq!(order, ["greedy", "modest", "greedy", "modest", "greedy"]);
}

/// An account with a hundred jobs does not keep others waiting, even if no two shards run at the same time.
pub(super) async fn take_turns_on_a_single_lane(records: &dyn Records) {
    for number in 1..=100 {
        records.create_job(job(number, "greedy", 1, 1)).await.unwrap();
    }
    let mut order = vec![];
    for round in 0..8 {
        if round == 2 {
            for number in [201, 202, 203] {
                records.create_job(job(number, "modest", 1, 1)).await.unwrap();
            }
        }
        let claim = claim(records).await;
        records.record_episode(claim.fence, episode(0), at(2)).await.unwrap();
        order.push(claim.account.to_string());
    }
    let (greedy, modest) = ("greedy", "modest");
    assert_eq!(order, [greedy, greedy, modest, greedy, modest, greedy, modest, greedy]);
}

pub(super) async fn refuse_foreign_episodes(records: &dyn Records) {
    records.create_job(job(1, "lab", 4, 2)).await.unwrap();
    let claim = claim(records).await;
    for foreign in [2, 4, u32::MAX] {
        let refused = records.record_episode(claim.fence, episode(foreign), at(2)).await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{foreign}: {refused:?}");
    }
    assert!(records.episodes(claim.fence.job_id, 0, 10).await.unwrap().is_empty());
}

pub(super) async fn released_ones_count_no_failure(records: &dyn Records) {
    records.create_job(job(1, "lab", 2, 2)).await.unwrap();
    for attempt in 1..=2 * MAX_RETRIES {
        let claim = claim(records).await;
        assert_eq!((claim.fence.attempt, claim.failures), (attempt, 0));
        assert_eq!(records.release_shard(claim.fence).await.unwrap(), ReturnOutcome::Requeued);
        assert_eq!(records.release_shard(claim.fence).await.unwrap(), ReturnOutcome::Fenced);
    }
    let claim = claim(records).await;
    records.record_episode(claim.fence, episode(1), at(2)).await.unwrap();
    records.release_shard(claim.fence).await.unwrap();
    assert_eq!(self::claim(records).await.episodes, [0], "only missing episodes are run again");
}

pub(super) async fn failing_too_often_fails_the_job(records: &dyn Records) {
    records.create_job(job(1, "lab", 3, 1)).await.unwrap();
    let other = claim(records).await;
    for failures in 0..=MAX_RETRIES {
        let claim = claim(records).await;
        assert_eq!(claim.failures, failures);
        assert_eq!(claim.last_failure.as_deref(), (failures > 0).then_some("the lane was killed"));
        let returned = records.fail_shard(claim.fence, "the lane was\u{7} killed", at(9)).await.unwrap();
        assert_eq!(returned, if failures < MAX_RETRIES { ReturnOutcome::Requeued } else { ReturnOutcome::JobFailed });
    }
    let found = records.job(None, other.fence.job_id).await.unwrap().unwrap();
    let JobState::Failed { failure, completed_at, .. } = found.state else { panic!("{:?}", found.state) };
    assert_eq!((failure.blame, failure.message.as_str()), (Blame::Platform, "the lane was killed"));
    assert_eq!(completed_at, at(9));
    assert!(records.claim_shard(&ShardRequest::new("w"), at(10), LEASE).await.unwrap().is_none());
    assert_eq!(records.record_episode(other.fence, episode(0), at(10)).await.unwrap(), RecordOutcome::Fenced);
}

pub(super) async fn progress_forgives_failures(records: &dyn Records) {
    records.create_job(job(1, "lab", 2, 2)).await.unwrap();
    for _ in 0..MAX_RETRIES {
        let claim = claim(records).await;
        records.fail_shard(claim.fence, "killed", at(2)).await.unwrap();
    }
    let last = claim(records).await;
    records.record_episode(last.fence, episode(0), at(2)).await.unwrap();
    assert_eq!(records.fail_shard(last.fence, "killed", at(2)).await.unwrap(), ReturnOutcome::Requeued);
    assert_eq!(claim(records).await.failures, 1);
}

pub(super) async fn parallel_claims_never_meet(records: &dyn Records) {
    for number in 0..10 {
        records.create_job(job(number, "lab", 3, 1)).await.unwrap();
    }
    let request = ShardRequest::new("w");
    let claims = (0..40).map(|_| records.claim_shard(&request, at(1), LEASE));
    let mut seen = BTreeSet::new();
    for claim in join_all(claims).await {
        if let Some(claim) = claim.unwrap() {
            assert!(seen.insert((claim.fence.job_id, claim.fence.shard)), "claimed twice: {claim:?}");
        }
    }
    assert_eq!(seen.len(), 30);
    let counts = records.counts().await.unwrap();
    assert_eq!((counts.running, counts.queued, counts.oldest_open), (10, 0, Some(at(0))));
    let running = records.job(None, seen.first().unwrap().0).await.unwrap().unwrap();
    assert_eq!(running.report(&[]).status, JobStatus::Running);
}

/// Polls all futures concurrently.
async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.map(|f| (Box::pin(f), None)).collect();
    std::future::poll_fn(|context| {
        for (future, output) in pending.iter_mut().filter(|(_, output)| output.is_none()) {
            if let std::task::Poll::Ready(value) = future.as_mut().poll(context) {
                *output = Some(value);
            }
        }
        if pending.iter().all(|(_, output)| output.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    pending.into_iter().filter_map(|(_, output)| output).collect()
}

pub(super) async fn of_policy_servers_are_claimed_apart(records: &dyn Records) {
    let remote = |number| NewJob { policy_path: None, ..job(number, "lab", 5, 2) };
    assert_eq!(records.create_job(remote(1)).await.unwrap(), 1, "one shard, regardless of the requested size");
    records.create_job(job(2, "lab", 1, 1)).await.unwrap();
    records.create_job(NewJob { account: "other".parse().unwrap(), ..remote(3) }).await.unwrap();
    let local = records.claim_shard(&ShardRequest::new("w"), at(0), LEASE).await.unwrap().unwrap();
    assert_eq!(local.fence.job_id, job(2, "lab", 1, 1).header.job_id);
    assert!(records.claim_shard(&ShardRequest::new("w"), at(0), LEASE).await.unwrap().is_none());
    let first =
        records.claim_shard(&ShardRequest::new("w").of_kind(ShardKind::Server), at(0), LEASE).await.unwrap().unwrap();
    assert_eq!((first.policy_path, first.episodes), (None, vec![0, 1, 2, 3, 4]));
    assert_eq!(first.account.as_str(), "other", "which was given nothing yet");
    records.release_shard(first.fence).await.unwrap();
    let lab =
        records.claim_shard(&ShardRequest::new("w").of_kind(ShardKind::Server), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(lab.account.as_str(), "lab", "accounts take turns");
    let again =
        records.claim_shard(&ShardRequest::new("w").of_kind(ShardKind::Server), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(again.fence.job_id, first.fence.job_id);
    assert!(
        records.claim_shard(&ShardRequest::new("w").of_kind(ShardKind::Server), at(1), LEASE).await.unwrap().is_none()
    );
}
