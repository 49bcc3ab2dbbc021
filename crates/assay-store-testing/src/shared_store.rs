//! Cases with two handles on one store, whose transactions meet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_model::{EpisodeStatus, JobId, JobStatus, Verdict};
use assay_store::{
    AccountCaps, CancelOutcome, Claim, EventPosition, IdempotencyClaim, IdempotencyKey, IdempotencyStart, JobDemand,
    JobQuota, KeyId, NewJob, RecordOutcome, Records, ShardRequest, StoreError,
};
use futures_util::future::join_all;

use super::fixtures::{LEASE, at, episode, job, key, outcome, signed};

/// Two handles on one store.
pub(super) type Handles = [Arc<dyn Records>; 2];

/// Number of concurrent claimers.
const CLAIMERS: usize = 16;
/// Time after which a request with a key that was revoked elsewhere is refused, with some tolerance.
const REVOKED: Duration = Duration::from_millis(1500);

/// Returns the handle that the task `number` uses.
fn handle(records: &Handles, number: usize) -> Arc<dyn Records> {
    Arc::clone(&records[number % records.len()])
}

/// Runs tasks truly in parallel, and returns their results.
async fn parallel<T, F>(tasks: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

/// Claims until `claims` is reached or nothing is queued.
async fn claim_many(records: Arc<dyn Records>, worker: usize, claims: usize) -> Vec<Claim> {
    let (request, mut claimed) = (ShardRequest::new(&format!("w{worker}")), Vec::new());
    while claimed.len() < claims {
        match records.claim_shard(&request, at(1), LEASE).await.unwrap() {
            Some(claim) => claimed.push(claim),
            None => break,
        }
    }
    claimed
}

fn places(claims: &[Claim]) -> BTreeSet<(JobId, u32)> {
    claims.iter().map(|claim| (claim.fence.job_id, claim.fence.shard)).collect()
}

pub(super) async fn claims_never_meet(records: &Handles) {
    for number in 0..20 {
        records[0].create_job(job(number, "lab", 4, 1)).await.unwrap();
    }
    let claimers = (0..CLAIMERS).map(|worker| claim_many(handle(records, worker), worker, usize::MAX));
    let claims: Vec<Claim> = parallel(claimers).await.into_iter().flatten().collect();
    assert_eq!((claims.len(), places(&claims).len()), (80, 80), "each shard is claimed once, and none is left");
    for id in claims.iter().map(|claim| claim.fence.job_id) {
        let events = records[1].events(id, 0, 9).await.unwrap();
        assert_eq!(events.len(), 2, "a job starts once: {events:?}");
    }
}

pub(super) async fn claims_are_fair(records: &Handles) {
    let accounts = ["a", "b", "c", "d"];
    // The first account has the oldest jobs, and by far the most.
    for (place, account) in (0..).zip(accounts) {
        for number in 0..if account == "a" { 20 } else { 5 } {
            records[0].create_job(job(place * 100 + number, account, 8, 1)).await.unwrap();
        }
    }
    let claimers = (0..CLAIMERS).map(|worker| claim_many(handle(records, worker), worker, 5));
    let mut held = BTreeMap::<String, usize>::new();
    for claim in parallel(claimers).await.iter().flatten() {
        *held.entry(claim.account.to_string()).or_default() += 1;
    }
    assert_eq!(held.values().sum::<usize>(), 80);
    // Claims in progress do not see each other; there are at most as many as claimers.
    assert!(accounts.iter().all(|account| (16..=24).contains(&held[*account])), "{held:?}");
    // An account that comes last is served first.
    records[0].create_job(job(900, "late", 1, 1)).await.unwrap();
    let next = records[1].claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(next.account.as_str(), "late");
}

pub(super) async fn results_are_written_once(records: &Handles) {
    records[0].create_job(job(1, "lab", 32, 32)).await.unwrap();
    let claim = records[0].claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    // Each result is sent four times, as by a worker that got no answer.
    let outcomes =
        parallel(
            (0..128).map(|number| {
                let (records, fence) = (handle(records, number / 2), claim.fence);
                async move {
                    records.record_episode(fence, episode(u32::try_from(number % 32).unwrap()), at(2)).await.unwrap()
                }
            }),
        );
    let outcomes = outcomes.await;
    let new = outcomes.iter().filter(|outcome| matches!(outcome, RecordOutcome::New { .. })).count();
    let repeated = outcomes.iter().filter(|outcome| **outcome == RecordOutcome::Duplicate).count();
    assert_eq!((new, repeated), (32, 96), "{outcomes:?}");
    let last = outcomes.contains(&RecordOutcome::New { left_in_shard: 0, left_in_job: 0 });
    assert!(last, "one of them was the last");
    check_job(records, claim.fence.job_id).await;
}

/// Results, a cancellation and the end of a certification at its first failure meet, in every order that comes about.
pub(super) async fn results_meet_cancellations_and_ends(records: &Handles) {
    for round in 0..12_u64 {
        let mut new = job(round, "lab", 24, 3);
        new.header.plan.target = Some(0.05);
        let id = new.header.job_id;
        records[0].create_job(new).await.unwrap();
        let claims = claim_many(handle(records, 0), 0, 8).await;
        let failing = u32::try_from(round * 2).unwrap();
        let workers = claims.into_iter().enumerate().map(|(number, claim)| {
            let records = handle(records, number);
            async move {
                for index in claim.episodes {
                    let mut result = episode(index);
                    if index == failing {
                        result.status = EpisodeStatus::PolicyError;
                    }
                    if records.record_episode(claim.fence, result, at(2)).await.unwrap() == RecordOutcome::Fenced {
                        return;
                    }
                }
            }
        });
        let canceller = handle(records, 1);
        let cancelled = tokio::spawn(async move {
            // Waits for a different number of results each time; the last rounds are not cancelled.
            let wanted = u32::try_from(round).unwrap();
            while round < 9 && canceller.job(None, id).await.unwrap().unwrap().episodes_done < wanted {
                tokio::time::sleep(Duration::from_millis(1)).await;
                if canceller.job(None, id).await.unwrap().unwrap().state.status() != JobStatus::Running {
                    break;
                }
            }
            if round < 9 { canceller.cancel_job(None, id, at(3)).await.unwrap() } else { CancelOutcome::NotFound }
        });
        parallel(workers).await;
        let expected =
            if cancelled.await.unwrap() == CancelOutcome::Done { JobStatus::Cancelled } else { JobStatus::Judging };
        let record = records[1].job(None, id).await.unwrap().unwrap();
        assert_eq!(record.state.status(), expected);
        check_job(records, id).await;
        if expected == JobStatus::Judging {
            records[0].cancel_job(None, id, at(4)).await.unwrap();
        }
    }
    assert!(records[0].claimable(10).await.unwrap().is_empty(), "an ended job leaves nothing behind");
}

/// Checks that the counters, results and events of a job agree.
async fn check_job(records: &Handles, id: JobId) {
    let record = records[1].job(None, id).await.unwrap().unwrap();
    let indices: Vec<u32> =
        records[0].episodes(id, 0, 1000).await.unwrap().iter().map(|result| result.episode).collect();
    assert!(indices.is_sorted_by(|a, b| a < b), "an episode is there twice: {indices:?}");
    assert_eq!(record.episodes_done as usize, indices.len());
    let events = records[0].events(id, 0, 1000).await.unwrap();
    let numbers: Vec<u32> = events.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (1..=u32::try_from(events.len()).unwrap()).collect::<Vec<_>>(), "without gaps");
    assert_eq!(events.last().map(|event| event.status), Some(record.state.status()));
}

/// A follower of all jobs reads each event once and in order, whatever commits while it reads.
pub(super) async fn followers_skip_no_event(records: &Handles) {
    let ids: Vec<JobId> = (0..6).map(|number| job(number, "lab", 20, 5).header.job_id).collect();
    for number in 0..6 {
        records[0].create_job(job(number, "lab", 20, 5)).await.unwrap();
    }
    let done = Arc::new(AtomicBool::new(false));
    let followers: Vec<_> =
        (0..2).map(|number| follow(handle(records, number), ids.clone(), Arc::clone(&done))).collect();
    let followers: Vec<_> = followers.into_iter().map(tokio::spawn).collect();
    let workers = (0..CLAIMERS).map(|worker| {
        let records = handle(records, worker);
        async move {
            for claim in claim_many(Arc::clone(&records), worker, usize::MAX).await {
                for index in claim.episodes {
                    records.record_episode(claim.fence, episode(index), at(2)).await.unwrap();
                }
            }
        }
    });
    parallel(workers).await;
    done.store(true, Ordering::SeqCst);
    for follower in followers {
        // Acceptance, start, 20 results, JUDGING.
        assert_eq!(follower.await.unwrap(), vec![23; 6]);
    }
}

/// Reads events until `done`, then the rest; returns the number of events of each job.
async fn follow(records: Arc<dyn Records>, ids: Vec<JobId>, done: Arc<AtomicBool>) -> Vec<u32> {
    let mut positions: Vec<_> = ids.into_iter().map(|job_id| EventPosition { job_id, after: 0 }).collect();
    loop {
        let is_last = done.load(Ordering::SeqCst);
        for event in records.events_of(&positions, 1000).await.unwrap() {
            let position = positions.iter_mut().find(|position| position.job_id == event.job_id).unwrap();
            assert_eq!(event.number, position.after + 1, "of {}", event.job_id);
            position.after = event.number;
        }
        if is_last {
            return positions.iter().map(|position| position.after).collect();
        }
        tokio::task::yield_now().await;
    }
}

pub(super) async fn caps_are_exact(records: &Handles) {
    const MOST: u64 = 11;
    let none = u64::MAX;
    let caps = AccountCaps { jobs_per_day: none, active_jobs: MOST, queued_sim_s: none, stored_bytes: none };
    let quota = Some(JobQuota { caps, ask: JobDemand { sim_s: 1, stored_bytes: 1 } });
    let answers = parallel((0..100).map(|number| {
        let records = handle(records, number);
        async move { records.create_job(NewJob { quota, ..job(number as u64, "lab", 1, 1) }).await }
    }));
    let answers = answers.await;
    let accepted = answers.iter().filter(|answer| answer.is_ok()).count() as u64;
    let refused = answers.iter().filter(|answer| matches!(answer, Err(StoreError::CapExceeded(_)))).count() as u64;
    assert_eq!((accepted, refused), (MOST, 100 - MOST));
    assert_eq!(records[1].account_usage(&"lab".parse().unwrap(), at(0)).await.unwrap().active_jobs, MOST);
}

pub(super) async fn a_job_is_accepted_once(records: &Handles) {
    let answers = parallel((0..32).map(|number| {
        let records = handle(records, number);
        async move { records.create_job(job(1, "lab", 2, 1)).await }
    }));
    let answers = answers.await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert!(answers.iter().all(|answer| matches!(answer, Ok(2) | Err(StoreError::Exists { .. }))), "{answers:?}");
    assert_eq!(records[1].counts().await.unwrap().queued, 1);
}

pub(super) async fn an_idempotency_key_is_claimed_once(records: &Handles) {
    let starts = parallel((0..32).map(|number| {
        let claim = IdempotencyClaim {
            account: "lab".parse().unwrap(),
            key: IdempotencyKey::parse("k").unwrap(),
            request: [1; 32],
            attempt: uuid::Uuid::from_u128(number as u128),
        };
        let records = handle(records, number);
        async move { records.begin_request(claim, at(0)).await.unwrap() }
    }));
    let starts = starts.await;
    assert_eq!(starts.iter().filter(|start| **start == IdempotencyStart::New).count(), 1);
    assert_eq!(starts.iter().filter(|start| **start == IdempotencyStart::Running).count(), 31);
}

pub(super) async fn conclusions_are_drawn_once(records: &Handles) {
    for number in 0..8 {
        records[0].create_job(job(number, "lab", 1, 1)).await.unwrap();
        let claim = records[0].claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
        records[0].record_episode(claim.fence, episode(0), at(2)).await.unwrap();
    }
    let workers = (0..CLAIMERS).map(|worker| {
        let records = handle(records, worker);
        async move {
            let mut done = 0;
            while let Some(claim) = records.claim_conclusion(&format!("w{worker}"), at(3), LEASE).await.unwrap() {
                let found = outcome(&claim.header, &claim.episodes);
                done += u32::from(records.complete_job(claim.fence, found, signed(), at(4)).await.unwrap());
            }
            done
        }
    });
    assert_eq!(parallel(workers).await.iter().sum::<u32>(), 8);
    let id = job(3, "lab", 1, 1).header.job_id;
    let events = records[1].events(id, 0, 9).await.unwrap();
    let verdicts: Vec<Option<Verdict>> = events.iter().map(|event| event.verdict).collect();
    assert_eq!(verdicts.iter().flatten().count(), 1, "{events:?}");
}

/// Leases that have expired are taken away once, while their holders renew them and record results.
pub(super) async fn expired_leases_are_taken_once(records: &Handles) {
    records[0].create_job(job(1, "lab", 16, 1)).await.unwrap();
    let claims = claim_many(handle(records, 0), 0, 16).await;
    let holders = claims.into_iter().enumerate().map(|(number, claim)| {
        let (records, result) = (handle(records, number), episode(claim.episodes[0]));
        tokio::spawn(async move { records.record_episode(claim.fence, result, at(30)).await.unwrap() })
    });
    let holders: Vec<_> = holders.collect();
    let requeued = parallel((0..4).map(|number| {
        let records = handle(records, number);
        async move { records.reconcile(at(30)).await.unwrap().requeued }
    }));
    let requeued: Vec<_> = requeued.await.into_iter().flatten().collect();
    let outcomes: Vec<_> = join_all(holders).await.into_iter().map(Result::unwrap).collect();
    let lost = outcomes.iter().filter(|outcome| **outcome == RecordOutcome::Fenced).count();
    assert_eq!(requeued.len(), lost, "a lease is either lost or has its result: {outcomes:?} {requeued:?}");
    // Without a lost lease all results are there, and the conclusion can be claimed.
    assert_eq!(records[1].claimable(100).await.unwrap().len(), lost.max(1));
    check_job(records, job(1, "lab", 16, 1).header.job_id).await;
}

pub(super) async fn a_key_revoked_elsewhere_is_refused(records: &Handles) {
    for (number, name) in ["one", "two", "three"].into_iter().enumerate() {
        let (here, there) = (handle(records, number), handle(records, number + 1));
        here.create_key(key(name, "lab")).await.unwrap();
        let id = KeyId::parse(name).unwrap();
        assert!(there.key(&id).await.unwrap().unwrap().revoked_at.is_none());
        here.revoke_key(&id, at(5)).await.unwrap();
        assert_eq!(here.key(&id).await.unwrap().unwrap().revoked_at, Some(at(5)), "at once where it was revoked");
        let revoked = Instant::now();
        loop {
            // When it asks, not when the answer has come: a slow machine changes nothing.
            let asked = revoked.elapsed();
            if there.key(&id).await.unwrap().unwrap().revoked_at.is_some() {
                break;
            }
            assert!(asked < REVOKED, "a key is still accepted");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
