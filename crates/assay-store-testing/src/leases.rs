//! Leases of workers that disappear and return.

use assay_store::{
    CancelOutcome, JobState, Lease, MAX_LAPSES, ReconcileSummary, RecordOutcome, Records, ReturnOutcome, ShardRequest,
    Work,
};

use super::fixtures::{LEASE, at, episode, job};
use super::shards::claim;

pub(super) async fn a_stale_worker_is_fenced(records: &dyn Records) {
    let id = job(1, "lab", 2, 2).header.job_id;
    records.create_job(job(1, "lab", 2, 2)).await.unwrap();
    let stale = claim(records).await;
    records.record_episode(stale.fence, episode(0), at(2)).await.unwrap();

    let quiet = records.reconcile(at(10)).await.unwrap();
    assert_eq!(
        quiet,
        ReconcileSummary { next_expiry: Some(at(11)), ..ReconcileSummary::default() },
        "the lease still holds"
    );
    let done = records.reconcile(at(11)).await.unwrap();
    assert_eq!(done.requeued, [Work::Shard { job_id: id, shard: 0 }]);
    assert_eq!(done.next_expiry, None);
    assert_eq!(records.record_episode(stale.fence, episode(1), at(12)).await.unwrap(), RecordOutcome::Fenced);

    let fresh = records.claim_shard(&ShardRequest::new("other"), at(12), LEASE).await.unwrap().unwrap();
    assert_eq!((fresh.fence.attempt, fresh.episodes.as_slice(), fresh.failures), (2, &[1][..], 0));
    assert_eq!(records.heartbeat(stale.fence, at(12), LEASE).await.unwrap(), Lease::Lost);
    assert_eq!(records.leased_shard(stale.fence).await.unwrap(), None);
    assert!(!records.is_recorded(stale.fence, 0).await.unwrap(), "the shard has another holder");
    assert!(records.is_recorded(fresh.fence, 0).await.unwrap() && !records.is_recorded(fresh.fence, 1).await.unwrap());
    assert_eq!(records.leased_shard(fresh.fence).await.unwrap().as_ref(), Some(&fresh));
    assert_eq!(records.record_episode(stale.fence, episode(1), at(12)).await.unwrap(), RecordOutcome::Fenced);
    assert_eq!(records.release_shard(stale.fence).await.unwrap(), ReturnOutcome::Fenced);
    assert_eq!(records.fail_shard(stale.fence, "late", at(12)).await.unwrap(), ReturnOutcome::Fenced);
    let recorded = records.record_episode(fresh.fence, episode(1), at(13)).await.unwrap();
    assert_eq!(recorded, RecordOutcome::New { left_in_shard: 0, left_in_job: 0 });
    assert_eq!(records.episodes(id, 0, 10).await.unwrap().len(), 2);
}

pub(super) async fn a_repeated_answer_is_a_duplicate(records: &dyn Records) {
    records.create_job(job(1, "lab", 2, 2)).await.unwrap();
    let claim = claim(records).await;
    for index in [0, 1] {
        records.record_episode(claim.fence, episode(index), at(2)).await.unwrap();
        let mut changed = episode(index);
        changed.success = false;
        let again = records.record_episode(claim.fence, changed, at(3)).await.unwrap();
        assert_eq!(again, RecordOutcome::Duplicate, "also after the shard's end");
    }
    let kept = records.episodes(claim.fence.job_id, 0, 10).await.unwrap();
    assert_eq!(kept, [episode(0), episode(1)], "the first result stays");
    assert_eq!(records.job(None, claim.fence.job_id).await.unwrap().unwrap().episodes_done, 2);
}

pub(super) async fn a_heartbeat_keeps_the_shard(records: &dyn Records) {
    records.create_job(job(1, "lab", 1, 1)).await.unwrap();
    let claim = claim(records).await;
    assert_eq!(records.heartbeat(claim.fence, at(8), LEASE).await.unwrap(), Lease::Held);
    assert!(records.reconcile(at(17)).await.unwrap().requeued.is_empty());
    assert_eq!(records.heartbeat(claim.fence, at(2), LEASE).await.unwrap(), Lease::Held);
    assert!(records.reconcile(at(17)).await.unwrap().requeued.is_empty(), "a clock set back shortens nothing");
    assert_eq!(records.reconcile(at(18)).await.unwrap().requeued.len(), 1);
}

pub(super) async fn lapses_are_bounded(records: &dyn Records) {
    let id = job(1, "lab", 4, 2).header.job_id;
    records.create_job(job(1, "lab", 4, 2)).await.unwrap();
    let mut now = 100;
    for _ in 0..MAX_LAPSES {
        records.claim_shard(&ShardRequest::new("w"), at(now), LEASE).await.unwrap().unwrap();
        now += 10;
        assert_eq!(records.reconcile(at(now)).await.unwrap().requeued.len(), 1);
    }
    let last = records.claim_shard(&ShardRequest::new("w"), at(now), LEASE).await.unwrap().unwrap();
    records.claim_shard(&ShardRequest::new("w"), at(now), LEASE).await.unwrap().unwrap();
    assert_eq!(last.fence.attempt, MAX_LAPSES + 1);
    let done = records.reconcile(at(now + 10)).await.unwrap();
    assert_eq!((done.requeued, done.failed), (vec![], vec![id]));
    let found = records.job(None, id).await.unwrap().unwrap();
    assert!(matches!(found.state, JobState::Failed { .. }), "{:?}", found.state);
}

pub(super) async fn an_ended_job_loses_its_workers(records: &dyn Records) {
    records.create_job(job(1, "lab", 2, 2)).await.unwrap();
    let claim = claim(records).await;
    records.record_episode(claim.fence, episode(0), at(2)).await.unwrap();
    assert_eq!(records.cancel_job(None, claim.fence.job_id, at(3)).await.unwrap(), CancelOutcome::Done);
    assert_eq!(records.heartbeat(claim.fence, at(3), LEASE).await.unwrap(), Lease::Lost);
    assert_eq!(records.record_episode(claim.fence, episode(1), at(3)).await.unwrap(), RecordOutcome::Fenced);
    assert_eq!(records.release_shard(claim.fence).await.unwrap(), ReturnOutcome::Fenced);
    assert_eq!(records.episodes(claim.fence.job_id, 0, 9).await.unwrap(), [episode(0)], "recorded results are kept");
    assert_eq!(records.reconcile(at(100)).await.unwrap(), ReconcileSummary::default());
}
