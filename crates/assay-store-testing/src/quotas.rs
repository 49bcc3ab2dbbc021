//! Caps and usage of accounts.

use std::collections::HashMap;

use assay_model::{Artifact, Blame, Sha256Digest};
use assay_store::{
    AccountCaps, AccountUsage, Cap, CapExceeded, IdempotencyClaim, IdempotencyKey, IdempotencyStart, JobDemand,
    JobFailure, JobQuota, NewJob, Records, ShardRequest, StoreError, StoredResponse,
};
use futures_util::future::join_all;

use super::fixtures::{LEASE, at, episode, job, outcome, signed};

const NONE: AccountCaps =
    AccountCaps { jobs_per_day: u64::MAX, active_jobs: u64::MAX, queued_sim_s: u64::MAX, stored_bytes: u64::MAX };

fn within(number: u64, caps: AccountCaps) -> NewJob {
    let ask = JobDemand { sim_s: 30, stored_bytes: 1000 };
    NewJob { quota: Some(JobQuota { caps, ask }), ..job(number, "lab", 1, 1) }
}

async fn over(records: &dyn Records, job: NewJob) -> CapExceeded {
    match records.create_job(job).await {
        Err(StoreError::CapExceeded(over)) => over,
        other => panic!("{other:?} instead of a cap"),
    }
}

async fn usage(records: &dyn Records, seconds: i64) -> AccountUsage {
    records.account_usage(&"lab".parse().unwrap(), at(seconds)).await.unwrap()
}

pub(super) async fn of_a_day_come_again(records: &dyn Records) {
    let caps = AccountCaps { jobs_per_day: 3, ..NONE };
    for number in 1..=3 {
        records.create_job(within(number, caps)).await.unwrap();
    }
    // The fixtures' clock starts at 2025-06-15T15:06:40Z.
    let midnight = Some("2025-06-16T00:00:00Z".parse().unwrap());
    let refused = over(records, within(4, caps)).await;
    assert_eq!(
        refused,
        CapExceeded { cap: Cap::JobsPerDay, maximum: 3, current: 3, frees_at: midnight, retry_s: 32_000 }
    );
    records.create_job(NewJob { account: "other".parse().unwrap(), ..within(5, caps) }).await.unwrap();
    let ids: Vec<_> = (1..=3).map(|number| job(number, "lab", 1, 1).header.job_id).collect();
    let failure = |blame| JobFailure { blame, message: "no".into() };
    records.cancel_job(None, ids[0], at(1)).await.unwrap();
    records.fail_job(ids[1], failure(Blame::Scenario), at(1)).await.unwrap();
    over(records, within(4, caps)).await;
    records.fail_job(ids[2], failure(Blame::Platform), at(1)).await.unwrap();
    assert_eq!(usage(records, 1).await.jobs_today, 2, "a job that failed because of the platform is given back");
    records.create_job(within(4, caps)).await.unwrap();
    over(records, within(6, caps)).await;
    let mut tomorrow = within(7, caps);
    tomorrow.header.created_at = at(86_400);
    records.create_job(tomorrow).await.unwrap();
    assert_eq!((usage(records, 0).await.jobs_today, usage(records, 86_400).await.jobs_today), (3, 1));
}

pub(super) async fn of_jobs_that_have_not_ended_are_given_back(records: &dyn Records) {
    for (caps, cap, (maximum, current)) in [
        (AccountCaps { active_jobs: 2, ..NONE }, Cap::ActiveJobs, (2, 2)),
        (AccountCaps { queued_sim_s: 89, ..NONE }, Cap::QueuedSimS, (89, 60)),
    ] {
        let first = if cap == Cap::ActiveJobs { 0 } else { 100 };
        for number in [1, 2] {
            records.create_job(within(first + number, caps)).await.unwrap();
        }
        let refused = over(records, within(first + 3, caps)).await;
        assert_eq!(refused, CapExceeded { cap, maximum, current, frees_at: None, retry_s: 30 });
        let id = |number| job(first + number, "lab", 1, 1).header.job_id;
        records.cancel_job(None, id(1), at(1)).await.unwrap();
        records.create_job(within(first + 3, caps)).await.unwrap();
        over(records, within(first + 4, caps)).await;
        // Runs the second one to its end, which alone frees its place.
        let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
        records.record_episode(claim.fence, episode(0), at(2)).await.unwrap();
        over(records, within(first + 4, caps)).await;
        let taken = records.claim_conclusion("w", at(2), LEASE).await.unwrap().unwrap();
        let found = outcome(&taken.header, &taken.episodes);
        assert!(records.complete_job(taken.fence, found, signed(), at(3)).await.unwrap());
        records.create_job(within(first + 4, caps)).await.unwrap();
        over(records, within(first + 5, caps)).await;
        for number in [3, 4] {
            let failure = JobFailure { blame: Blame::Scenario, message: "no".into() };
            assert!(records.fail_job(id(number), failure, at(4)).await.unwrap());
        }
        let left = usage(records, 5).await;
        assert_eq!((left.active_jobs, left.queued_sim_s), (0, 0));
    }
}

pub(super) async fn of_the_disk_count_an_archive_once(records: &dyn Records) {
    let caps = AccountCaps { stored_bytes: 2500, ..NONE };
    let same = |number| NewJob { policy_path: Some("policies/a.zip".into()), ..within(number, caps) };
    for number in 1..=3 {
        records.create_job(same(number)).await.unwrap();
    }
    assert_eq!(usage(records, 0).await.stored_bytes, 1000);
    records.create_job(within(4, caps)).await.unwrap();
    let refused = over(records, within(5, caps)).await;
    let expected = CapExceeded { cap: Cap::StoredBytes, maximum: 2500, current: 2000, frees_at: None, retry_s: 30 };
    assert_eq!(refused, expected);
    let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    let mut found = episode(0);
    let file = |size_bytes| Artifact { name: "f".into(), sha256: Sha256Digest::new([0; 32]), size_bytes };
    found.evidence = vec![file(300), file(200)];
    records.record_episode(claim.fence, found, at(2)).await.unwrap();
    assert_eq!(usage(records, 2).await.stored_bytes, 2500);
    records.create_job(same(6)).await.unwrap();
    over(records, within(7, caps)).await;
    // Removed files use no space.
    let id = claim.fence.job_id;
    assert_eq!(records.evidence_sizes().await.unwrap(), HashMap::from([(id, 500)]));
    records.cancel_job(None, id, at(3)).await.unwrap();
    assert!(records.drop_evidence(id, at(4)).await.unwrap());
    assert_eq!(records.evidence_sizes().await.unwrap(), HashMap::new());
    assert_eq!(usage(records, 4).await.stored_bytes, 2000);
    records.erase_job(None, id, at(5)).await.unwrap();
    assert_eq!(usage(records, 5).await.stored_bytes, 1000);
}

pub(super) async fn admit_exactly_as_many_as_fit(records: &dyn Records) {
    let caps = AccountCaps { active_jobs: 37, ..NONE };
    let answers = join_all((1..=1000).map(|number| records.create_job(within(number, caps)))).await;
    let refused = answers.iter().filter(|answer| matches!(answer, Err(StoreError::CapExceeded(_)))).count();
    assert_eq!((answers.iter().filter(|answer| answer.is_ok()).count(), refused), (37, 963));
    assert_eq!(
        usage(records, 0).await,
        AccountUsage { jobs_today: 37, active_jobs: 37, queued_sim_s: 37 * 30, stored_bytes: 37 * 1000 }
    );
}

pub(super) async fn leave_no_answer_behind(records: &dyn Records) {
    let once = IdempotencyClaim {
        account: "lab".parse().unwrap(),
        key: IdempotencyKey::parse("k").unwrap(),
        request: [1; 32],
        attempt: uuid::Uuid::from_u128(1),
    };
    assert_eq!(records.begin_request(once.clone(), at(0)).await.unwrap(), IdempotencyStart::New);
    let answer = StoredResponse { status: 201, location: None, body: None };
    let caps = AccountCaps { active_jobs: 0, ..NONE };
    let refused = records.create_job_idempotently(within(1, caps), once.clone(), answer).await;
    assert!(matches!(refused, Err(StoreError::CapExceeded(_))), "{refused:?}");
    let again = IdempotencyClaim { attempt: uuid::Uuid::from_u128(2), ..once };
    assert_eq!(
        records.begin_request(again, at(1)).await.unwrap(),
        IdempotencyStart::Running,
        "the refused request has no answer"
    );
}
