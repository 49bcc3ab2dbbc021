//! The conduct of workers on other hosts, which limits them.

use std::sync::Arc;

use assay_model::{Fence, JobId};
use assay_store::{ClaimsWithoutResult, ExcludedShards, Records, ShardRequest, WorkerName};

use super::fixtures::{LEASE, at, episode, job};
use super::shared_store::Handles;

fn worker() -> WorkerName {
    WorkerName::parse("far").unwrap()
}

fn other() -> WorkerName {
    WorkerName::parse("other").unwrap()
}

/// Creates a job of four episodes in four shards.
async fn created(records: &dyn Records, number: u64) -> JobId {
    records.create_job(job(number, "lab", 4, 1)).await.unwrap();
    job(number, "lab", 4, 1).header.job_id
}

async fn claims(records: &dyn Records) -> Vec<(JobId, u32)> {
    let conduct = records.conduct_of_worker(&worker(), at(0)).await.unwrap();
    conduct.claims.iter().map(|claims| (claims.job, claims.count)).collect()
}

async fn left(records: &dyn Records, worker: &WorkerName, second: i64) -> Vec<ExcludedShards> {
    records.conduct_of_worker(worker, at(second)).await.unwrap().left
}

pub(super) async fn claims_without_a_result_are_counted(records: &dyn Records) {
    let (first, second) = (created(records, 1).await, created(records, 2).await);
    records.count_worker_claims(&worker(), first, 1, at(1)).await.unwrap();
    records.count_worker_claims(&worker(), first, 5, at(3)).await.unwrap();
    records.count_worker_claims(&worker(), second, 1, at(4)).await.unwrap();
    records.count_worker_claims(&other(), second, 7, at(4)).await.unwrap();
    let conduct = records.conduct_of_worker(&worker(), at(5)).await.unwrap();
    let counted = |job, count, second| ClaimsWithoutResult { job, count, last: at(second) };
    assert_eq!(conduct.claims, [counted(first, 6, 3), counted(second, 1, 4)]);
    records.count_worker_claims(&other(), first, u32::MAX, at(4)).await.unwrap();
    records.count_worker_claims(&other(), first, u32::MAX, at(4)).await.unwrap();

    // A result of a lane inside the server changes nothing.
    let here = records.claim_shard(&ShardRequest::new("lane"), at(5), LEASE).await.unwrap().unwrap();
    records.record_episode(here.fence, episode(here.episodes[0]), at(5)).await.unwrap();
    assert_eq!(claims(records).await, [(first, 6), (second, 1)]);
    let mine = ShardRequest::new(&worker().lease_holder());
    let claim = records.claim_shard(&mine, at(6), LEASE).await.unwrap().unwrap();
    records.record_episode(claim.fence, episode(claim.episodes[0]), at(6)).await.unwrap();
    let kept = if claim.fence.job_id == first { (second, 1) } else { (first, 6) };
    assert_eq!(claims(records).await, [kept]);
    records.count_worker_claims(&worker(), claim.fence.job_id, 1, at(7)).await.unwrap();
    assert!(claims(records).await.contains(&(claim.fence.job_id, 1)), "it begins again");
}

pub(super) async fn a_shard_is_left_to_others_once(records: &dyn Records) {
    let id = created(records, 1).await;
    let shard = |shard| ExcludedShards { job: id, shard: Some(shard) };
    assert!(records.leave_shard_to_others(&worker(), id, 0, at(300)).await.unwrap());
    assert!(!records.leave_shard_to_others(&worker(), id, 0, at(310)).await.unwrap());
    assert!(records.leave_shard_to_others(&worker(), id, 1, at(310)).await.unwrap());
    assert_eq!(left(records, &worker(), 299).await, [shard(0), shard(1)]);
    assert_eq!(left(records, &worker(), 300).await, [shard(1)], "nobody confirmed it in time");
    assert!(!records.leave_shard_to_others(&worker(), id, 0, at(600)).await.unwrap());
    assert!(records.leave_shard_to_others(&other(), id, 1, at(400)).await.unwrap());
    assert_eq!(left(records, &worker(), 0).await, [shard(0)], "one of them has to run it");
    assert_eq!(left(records, &other(), 0).await, [shard(1)]);
    records.confirm_left_shard(id, 0).await.unwrap();
    assert_eq!(left(records, &worker(), 0).await, []);
    assert!(records.leave_shard_to_others(&worker(), id, 0, at(400)).await.unwrap());
}

pub(super) async fn evidence_and_failed_audits_are_counted(records: &dyn Records) {
    let (first, second) = (created(records, 1).await, created(records, 2).await);
    let reserve = async |worker: &WorkerName, job, bytes| {
        records.reserve_worker_evidence(worker, job, bytes, 1000).await.unwrap()
    };
    assert!(!reserve(&worker(), first, 1001).await);
    assert!(reserve(&worker(), first, 600).await && !reserve(&worker(), first, 401).await);
    assert!(reserve(&worker(), first, 400).await && !reserve(&worker(), first, 1).await);
    assert!(reserve(&worker(), second, 1000).await && reserve(&other(), first, 1000).await, "for each");
    assert_eq!(claims(records).await, [], "evidence is no claim");

    let fence = |attempt| Fence { job_id: first, shard: 0, attempt };
    let failed = async |attempt, episode| records.count_failed_audit(fence(attempt), episode).await.unwrap();
    assert_eq!((failed(1, 0).await, failed(1, 0).await, failed(1, 1).await), (1, 2, 1));
    assert_eq!((failed(2, 0).await, failed(2, 0).await), (1, 2), "another claim");
}

pub(super) async fn is_forgotten_when_the_job_ends(records: &dyn Records) {
    let id = created(records, 1).await;
    records.count_worker_claims(&worker(), id, 1, at(1)).await.unwrap();
    assert!(records.leave_shard_to_others(&worker(), id, 0, at(300)).await.unwrap());
    assert!(records.reserve_worker_evidence(&worker(), id, 10, 10).await.unwrap());
    records.cancel_job(None, id, at(2)).await.unwrap();
    // Nothing about an ended job is written any more.
    records.count_worker_claims(&worker(), id, 1, at(3)).await.unwrap();
    assert!(!records.leave_shard_to_others(&worker(), id, 0, at(300)).await.unwrap());
    assert!(!records.reserve_worker_evidence(&worker(), id, 1, 10).await.unwrap());
    assert_eq!(records.conduct_of_worker(&worker(), at(3)).await.unwrap(), assay_store::WorkerConduct::default());
}

pub(super) async fn is_counted_over_processes(handles: &Handles) {
    let id = created(&*handles[0], 1).await;
    let mut tasks = Vec::new();
    for number in 0..40_usize {
        let records = Arc::clone(&handles[number % 2]);
        tasks.push(tokio::spawn(async move {
            records.count_worker_claims(&worker(), id, 1, at(1)).await.unwrap();
            let reserved = records.reserve_worker_evidence(&worker(), id, 100, 1000).await.unwrap();
            let left = records.leave_shard_to_others(&worker(), id, 0, at(300)).await.unwrap();
            let fence = Fence { job_id: id, shard: 0, attempt: 1 };
            (reserved, left, records.count_failed_audit(fence, 0).await.unwrap())
        }));
    }
    let (mut reserved, mut left, mut audits) = (0, 0, Vec::new());
    for task in tasks {
        let (has_space, is_left, count) = task.await.unwrap();
        reserved += u32::from(has_space);
        left += u32::from(is_left);
        audits.push(count);
    }
    audits.sort_unstable();
    assert_eq!((reserved, left), (10, 1));
    assert_eq!(audits, (1..=40).collect::<Vec<_>>());
    for records in handles {
        assert_eq!(claims(&**records).await, [(id, 40)]);
    }
}
