//! Failures of the server, of connections and of callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use assay_model::JobId;
use assay_store::{
    ConclusionRecords, DatabaseProblem, EventRecords, JobFailure, JobRecords, JobState, KeyRecords, PostgresRecords,
    RecordOutcome, Records, ShardRecords, ShardRequest, StoreError,
};
use assay_store_testing::{at, episode, job};
use assay_testkit::{CommitCutter, PATIENCE, Postgres};

use super::{LEASE, folder, open, open_new};

fn is_outage<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(error @ StoreError::Database { problem: DatabaseProblem::Busy, .. })
        if error.is_outage() && error.is_transient())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_commit_got_no_answer_can_be_repeated() {
    let (url, direct) = open_new().await;
    let cutter = CommitCutter::start(Postgres::shared().port());
    let records =
        open(&url.replace(&format!(":{}/", Postgres::shared().port()), &format!(":{}/", cutter.port()))).await;

    cutter.cut_next_commit();
    let lost = records.create_job(job(1, "lab", 2, 2)).await;
    assert!(is_outage(&lost), "{lost:?}");
    let again = records.create_job(job(1, "lab", 2, 2)).await;
    assert!(matches!(again, Err(StoreError::Exists { .. })), "{again:?}");
    assert_eq!(direct.counts().await.unwrap().queued, 1, "never two");

    cutter.cut_next_commit();
    let lost = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await;
    assert!(is_outage(&lost), "{lost:?}");
    assert!(records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().is_none(), "it was claimed");
    direct.postpone_lost_claim().await;
    let claim = records.claim_shard(&ShardRequest::new("w"), at(20), LEASE).await.unwrap().unwrap();

    cutter.cut_next_commit();
    let lost = records.record_episode(claim.fence, episode(0), at(21)).await;
    assert!(is_outage(&lost), "{lost:?}");
    let again = records.record_episode(claim.fence, episode(0), at(22)).await.unwrap();
    assert_eq!(again, RecordOutcome::Duplicate);
    let last = records.record_episode(claim.fence, episode(1), at(23)).await.unwrap();
    assert_eq!(last, RecordOutcome::New { left_in_shard: 0, left_in_job: 0 });
    assert_eq!(cutter.cuts(), 3);
    let id = claim.fence.job_id;
    assert_eq!(direct.events(id, 0, 99).await.unwrap().len(), 5, "acceptance, start, two results, JUDGING");
    assert!(direct.claim_conclusion("w", at(24), LEASE).await.unwrap().is_some());
}

/// Requeues a shard whose holder never learned of its claim.
trait LostClaim {
    async fn postpone_lost_claim(&self);
}

impl LostClaim for PostgresRecords {
    async fn postpone_lost_claim(&self) {
        let requeued = assay_store::RecoveryRecords::reconcile(self, at(12)).await.unwrap().requeued;
        assert_eq!(requeued.len(), 1);
    }
}

/// The work of several clients, and whether they are to stop.
#[derive(Default)]
struct Calls {
    accepted: AtomicU64,
    stop: AtomicBool,
}

impl Calls {
    /// Waits until so many further jobs were accepted.
    async fn go_on(&self, further: u64) {
        let enough = self.accepted.load(Ordering::SeqCst) + further;
        let wait = async {
            while self.accepted.load(Ordering::SeqCst) < enough {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("no further job is accepted");
    }
}

/// Accepts jobs one after the other until `stop`; returns those that were acknowledged.
async fn accept(records: Arc<PostgresRecords>, first: u64, calls: Arc<Calls>) -> Vec<JobId> {
    let mut accepted = Vec::new();
    for number in first.. {
        if calls.stop.load(Ordering::SeqCst) {
            break;
        }
        let new = job(number, "lab", 1, 1);
        let id = new.header.job_id;
        match records.create_job(new).await {
            Ok(_) => {
                accepted.push(id);
                calls.accepted.fetch_add(1, Ordering::SeqCst);
            }
            Err(error) => {
                assert!(error.is_outage() && error.is_transient(), "{error:?}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
    accepted
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_when_the_server_crashes() {
    let server = Postgres::start(&[("fsync", "on")]);
    let records =
        Arc::new(PostgresRecords::open(&assay_store::PostgresOptions::new(server.database()), folder()).await.unwrap());
    let calls = Arc::new(Calls::default());
    let clients: Vec<_> = (1..5)
        .map(|client| tokio::spawn(accept(Arc::clone(&records), client * 1_000_000, Arc::clone(&calls))))
        .collect();
    for kill in [false, true] {
        calls.go_on(20).await;
        tokio::task::block_in_place(|| if kill { server.kill() } else { server.stop_immediately() });
        let refused = records.create_job(job(1, "lab", 1, 1)).await;
        assert!(is_outage(&refused), "{refused:?}");
        assert!(is_outage(&records.ping().await));
        tokio::task::block_in_place(|| server.start_again());
        // The same records work again by themselves.
        let started = Instant::now();
        while let Err(error) = records.ping().await {
            assert!(started.elapsed() < PATIENCE, "the records do not recover: {error:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    calls.go_on(5).await;
    calls.stop.store(true, Ordering::SeqCst);
    let mut accepted = 0;
    for client in clients {
        for id in client.await.unwrap() {
            let found = records.job(None, id).await.unwrap();
            assert!(found.is_some_and(|found| found.state == JobState::Queued), "job {id} is lost");
            assert_eq!(records.events(id, 0, 9).await.unwrap().len(), 1);
            accepted += 1;
        }
    }
    assert!(accepted > 20, "only {accepted} jobs were accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_bounded_however_many_callers_there_are() {
    let (url, records) = open_new().await;
    let records = Arc::new(records);
    let callers: Vec<_> = (0..200)
        .map(|number| {
            let records = Arc::clone(&records);
            tokio::spawn(async move { records.create_job(job(number, &format!("a{number}"), 1, 1)).await.unwrap() })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let name = url.rsplit('/').next().unwrap();
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND application_name = 'assay'");
    let open: u32 = Postgres::shared().sql("postgres", &sql).parse().unwrap();
    assert!((2..=16).contains(&open), "{open} connections");
    assert_eq!(records.counts().await.unwrap().queued, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_refused_affects_no_other() {
    let (_, records) = open_new().await;
    let records = Arc::new(records);
    records.create_job(job(1, "lab", 16, 16)).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    let sent = (0..32).map(|index| {
        let (records, fence) = (Arc::clone(&records), claim.fence);
        // Every second one is outside the shard.
        let result = episode(if index % 2 == 0 { index / 2 } else { 1000 + index });
        tokio::spawn(async move { records.record_episode(fence, result, at(2)).await })
    });
    let sent: Vec<_> = sent.collect();
    for (index, outcome) in sent.into_iter().enumerate() {
        let outcome = outcome.await.unwrap();
        match index % 2 {
            0 => assert!(matches!(outcome, Ok(RecordOutcome::New { .. })), "{outcome:?}"),
            _ => assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{outcome:?}"),
        }
    }
}

#[tokio::test]
async fn a_character_that_the_engine_cannot_store_is_left_out() {
    let (_, records) = open_new().await;
    let mut named = assay_store_testing::key("one", "lab");
    named.name = "a\0b".into();
    records.create_key(named.clone()).await.unwrap();
    assert_eq!(records.key(&named.id).await.unwrap().unwrap().name, "ab");
    records.create_job(job(1, "lab", 1, 1)).await.unwrap();
    let id = job(1, "lab", 1, 1).header.job_id;
    let failure = JobFailure { blame: assay_model::Blame::Platform, message: "no\0 disk".into() };
    assert!(records.fail_job(id, failure.clone(), at(1)).await.unwrap());
    assert_eq!(records.last_event(id).await.unwrap().unwrap().failure.as_deref(), Some("no disk"));
    let JobState::Failed { failure: found, .. } = records.job(None, id).await.unwrap().unwrap().state else { panic!() };
    assert_eq!(found, failure, "in JSON it is escaped");
}

#[tokio::test]
async fn numbers_come_back_to_the_last_bit() {
    let (_, records) = open_new().await;
    records.create_job(job(1, "lab", 1, 1)).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    let mut result = episode(0);
    (result.unsafe_time_s, result.sim_time_s, result.wall_time_s) = (-0.0, 0.1 + 0.2, f64::MIN_POSITIVE);
    records.record_episode(claim.fence, result, at(2)).await.unwrap();
    let found = records.episodes(claim.fence.job_id, 0, 1).await.unwrap().remove(0);
    let bits = [found.unsafe_time_s, found.sim_time_s, found.wall_time_s].map(f64::to_bits);
    assert_eq!(bits, [-0.0, 0.1 + 0.2, f64::MIN_POSITIVE].map(f64::to_bits));
}
