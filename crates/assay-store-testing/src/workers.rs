//! Workers on other hosts, and what they may claim.

use std::collections::BTreeMap;

use assay_model::{AttemptNote, Fingerprint, ReplacementReason, Sha256Digest, WorkerRegistration};
use assay_store::{
    Confinement, JobDemands, JobState, Lease, NewJob, NewWorker, RecordOutcome, Records, ShardRequest, StoreError,
    Work, WorkerCapabilities, WorkerName, WorkerState,
};

use super::fixtures::{LEASE, at, episode, fingerprint, job};

fn name(text: &str) -> WorkerName {
    WorkerName::parse(text).unwrap()
}

fn token(text: &str) -> Sha256Digest {
    Sha256Digest::of(text.as_bytes())
}

fn new(text: &str) -> NewWorker {
    let token_hash = token(text);
    NewWorker { name: name(text), token_hash, trusted: false, created_at: at(0), expires_at: Some(at(1000)) }
}

pub(super) fn registration() -> WorkerRegistration {
    WorkerRegistration {
        machine: fingerprint(),
        runtimes: vec![Sha256Digest::new([5; 32])],
        fetches_runtimes: false,
        lanes: 2,
        cameras: true,
        renders: true,
        memory_mib: 512,
        labels: BTreeMap::from([("room".to_owned(), "b2".to_owned())]),
        version: "0.1.0".into(),
    }
}

/// A request of a worker on another host, on the machine of [`fingerprint`].
fn request(worker: &str) -> ShardRequest {
    let capabilities = WorkerCapabilities {
        machine: Some(fingerprint()),
        runtimes: Some(vec![Sha256Digest::new([5; 32])]),
        cameras: false,
        memory_mib: 512,
        trust: Confinement::Anywhere,
        labels: BTreeMap::from([("room".to_owned(), "b2".to_owned()), ("gpu".to_owned(), "none".to_owned())]),
    };
    ShardRequest { capabilities, ..ShardRequest::new(&name(worker).lease_holder()) }
}

pub(super) async fn come_back_as_they_were(records: &dyn Records) {
    records.create_worker(new("b")).await.unwrap();
    records.create_worker(NewWorker { trusted: true, expires_at: None, ..new("a") }).await.unwrap();
    let taken = records.create_worker(NewWorker { token_hash: token("other"), ..new("b") }).await;
    assert!(matches!(taken, Err(StoreError::Exists { .. })));
    let taken = records.create_worker(NewWorker { name: name("c"), ..new("b") }).await;
    assert!(matches!(taken, Err(StoreError::Exists { .. })), "each token names one worker");
    assert_eq!(records.worker_with_token(token("c")).await.unwrap(), None);

    let found = records.worker_with_token(token("b")).await.unwrap().unwrap();
    assert_eq!(records.worker_named(&name("b")).await.unwrap().as_ref(), Some(&found));
    assert_eq!(records.worker_named(&name("c")).await.unwrap(), None);
    assert_eq!((found.name, found.trusted, found.state), (name("b"), false, WorkerState::Active));
    assert_eq!((found.created_at, found.expires_at), (at(0), Some(at(1000))));
    assert_eq!((found.generation, found.registration, found.seen_at), (0, None, None));
    let (generation, requeued) = records.register_worker(&name("b"), registration(), at(5)).await.unwrap().unwrap();
    assert_eq!((generation, requeued), (1, Vec::new()));
    records.touch_worker(&name("b"), at(9)).await.unwrap();
    records.touch_worker(&name("b"), at(7)).await.unwrap();
    let all = records.workers().await.unwrap();
    let [a, b] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((a.name.as_str(), a.trusted, a.expires_at), ("a", true, None));
    assert_eq!((b.generation, b.registration.as_ref(), b.seen_at), (1, Some(&registration()), Some(at(9))));
    assert!(b.is_admitted(at(999)) && !b.is_admitted(at(1000)));
    assert_eq!(records.register_worker(&name("b"), registration(), at(1000)).await.unwrap(), None, "expired");
    assert_eq!(records.register_worker(&name("nobody"), registration(), at(5)).await.unwrap(), None);
}

pub(super) async fn claim_what_they_can_run(records: &dyn Records) {
    let runtime =
        |byte: u8| assay_model::RuntimeVersion { name: "onnx".parse().unwrap(), sha256: Sha256Digest::new([byte; 32]) };
    let with = |number, change: &dyn Fn(&mut NewJob)| {
        let mut job = job(number, "lab", 1, 1);
        change(&mut job);
        job
    };
    let labels = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
    };
    let too_much = [
        with(1, &|job| job.header.runtime = Some(runtime(6))),
        with(2, &|job| job.header.render_profile = Some(1)),
        with(3, &|job| job.demands = JobDemands { memory_mib: 513, connects: false }),
        with(4, &|job| job.demands = JobDemands { memory_mib: 1, connects: true }),
        with(5, &|job| job.header.labels = labels(&[("room", "b3")])),
        with(6, &|job| job.header.labels = labels(&[("room", "b2"), ("rack", "1")])),
    ];
    for job in too_much {
        records.create_job(job).await.unwrap();
    }
    assert_eq!(records.claim_shard(&request("far"), at(1), LEASE).await.unwrap(), None);
    let fits = with(9, &|job| {
        job.header.runtime = Some(runtime(5));
        job.demands = JobDemands { memory_mib: 512, connects: false };
        job.header.labels = labels(&[("gpu", "none"), ("room", "b2")]);
    });
    let id = fits.header.job_id;
    records.create_job(fits).await.unwrap();
    assert_eq!(records.claim_shard(&request("far"), at(1), LEASE).await.unwrap().unwrap().fence.job_id, id);
    for _ in 0..4 {
        assert!(records.claim_shard(&ShardRequest::new("here"), at(1), LEASE).await.unwrap().is_some());
    }
}

pub(super) async fn of_one_machine_run_all_of_a_job(records: &dyn Records) {
    let id = job(1, "lab", 2, 1).header.job_id;
    records.create_job(job(1, "lab", 2, 1)).await.unwrap();
    let other = Fingerprint { glibc: "2.41".into(), ..fingerprint() };
    let mut elsewhere = request("elsewhere");
    elsewhere.capabilities.machine = Some(other.clone());
    let returned = records.claim_shard(&request("a"), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(records.unpin_jobs(&[fingerprint().digest(), other.digest()], at(1)).await.unwrap(), []);
    assert_eq!(records.claim_shard(&elsewhere, at(1), LEASE).await.unwrap(), None, "it may run there");
    records.release_shard(returned.fence).await.unwrap();
    assert_eq!(records.unpin_jobs(&[fingerprint().digest(), other.digest()], at(1)).await.unwrap(), []);
    let taken = records.claim_shard(&elsewhere, at(1), LEASE).await.unwrap().unwrap();
    records.release_shard(taken.fence).await.unwrap();
    assert_eq!(records.unpin_jobs(&[fingerprint().digest(), other.digest()], at(1)).await.unwrap(), []);
    let first = records.claim_shard(&request("a"), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(records.claim_shard(&elsewhere, at(1), LEASE).await.unwrap(), None, "the job is pinned");
    records.record_episode(first.fence, episode(first.episodes[0]), at(2)).await.unwrap();
    assert_eq!(records.unpin_jobs(&[fingerprint().digest()], at(2)).await.unwrap(), []);
    assert_eq!(records.claim_shard(&elsewhere, at(2), LEASE).await.unwrap(), None);

    // The machine is gone: what it ran does not count.
    let again = records.unpin_jobs(&[other.digest()], at(3)).await.unwrap();
    assert_eq!(again, [Work::Shard { job_id: id, shard: first.fence.shard }]);
    assert!(records.episodes(id, 0, 9).await.unwrap().is_empty());
    let mut notes = Vec::new();
    for second in 4..6 {
        let claim = records.claim_shard(&elsewhere, at(second), LEASE).await.unwrap().unwrap();
        notes.extend(claim.notes.clone());
        records.record_episode(claim.fence, episode(claim.episodes[0]), at(second)).await.unwrap();
    }
    let [AttemptNote::Replaced(replaced)] = notes.as_slice() else { panic!("{notes:?}") };
    assert_eq!((replaced.episode, replaced.reason), (0, ReplacementReason::MachineGone));
    let claim = records.claim_conclusion("w", at(6), LEASE).await.unwrap().unwrap();
    assert_eq!((claim.machine, claim.episodes.len()), (Some(other), 2));
}

pub(super) async fn lose_their_leases_when_they_start_again_or_are_revoked(records: &dyn Records) {
    records.create_worker(new("far")).await.unwrap();
    records.create_job(job(1, "lab", 2, 1)).await.unwrap();
    records.register_worker(&name("far"), registration(), at(1)).await.unwrap().unwrap();
    let before = records.claim_shard(&request("far"), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(records.workers().await.unwrap()[0].shards, 1);
    let work = Work::Shard { job_id: before.fence.job_id, shard: before.fence.shard };
    let (generation, requeued) = records.register_worker(&name("far"), registration(), at(2)).await.unwrap().unwrap();
    assert_eq!((generation, requeued), (2, vec![work]));
    assert_eq!(records.heartbeat(before.fence, at(2), LEASE).await.unwrap(), Lease::Lost);

    let claim = records.claim_shard(&request("far"), at(2), LEASE).await.unwrap().unwrap();
    assert_eq!(records.leave_worker(&name("far"), 1, at(2)).await.unwrap(), [], "another process has registered");
    assert_eq!(records.heartbeat(claim.fence, at(2), LEASE).await.unwrap(), Lease::Held);
    assert_eq!(records.leave_worker(&name("far"), 2, at(2)).await.unwrap(), [work]);
    assert_eq!(records.heartbeat(claim.fence, at(2), LEASE).await.unwrap(), Lease::Lost);
    let claim = records.claim_shard(&request("far"), at(2), LEASE).await.unwrap().unwrap();
    records.record_episode(claim.fence, episode(0), at(3)).await.unwrap();
    let claim = records.claim_shard(&request("far"), at(3), LEASE).await.unwrap().unwrap();
    assert!(records.drain_worker(&name("far"), true, at(3)).await.unwrap());
    assert_eq!(records.heartbeat(claim.fence, at(3), LEASE).await.unwrap(), Lease::Held, "it finishes what it runs");
    assert!(records.drain_worker(&name("far"), false, at(3)).await.unwrap());
    let removal = records.revoke_worker(&name("far"), at(4)).await.unwrap().unwrap();
    assert_eq!((removal.requeued.len(), removal.discarded, removal.concluded), (1, vec![], vec![]));
    assert_eq!(records.record_episode(claim.fence, episode(1), at(4)).await.unwrap(), RecordOutcome::Fenced);
    let worker = records.worker_with_token(token("far")).await.unwrap().unwrap();
    assert_eq!((worker.state.clone(), worker.shards), (WorkerState::Revoked, 0));
    assert!(!worker.is_admitted(at(4)));
    assert!(!records.drain_worker(&name("far"), true, at(5)).await.unwrap());
    assert_eq!(records.register_worker(&name("far"), registration(), at(5)).await.unwrap(), None);
    assert_eq!(records.revoke_worker(&name("nobody"), at(5)).await.unwrap(), None);
    assert_eq!(records.episodes_of_worker(&name("far"), 9).await.unwrap(), [(claim.fence.job_id, 0)]);
}

pub(super) async fn that_lie_are_quarantined(records: &dyn Records) {
    records.create_worker(new("liar")).await.unwrap();
    let (done, running) = (job(1, "lab", 1, 1).header.job_id, job(2, "lab", 3, 1).header.job_id);
    records.create_job(job(1, "lab", 1, 1)).await.unwrap();
    records.create_job(job(2, "lab", 3, 1)).await.unwrap();
    for second in 1..3 {
        let claim = records.claim_shard(&request("liar"), at(second), LEASE).await.unwrap().unwrap();
        records.record_episode(claim.fence, episode(claim.episodes[0]), at(second)).await.unwrap();
    }
    let honest = records.claim_shard(&ShardRequest::new("here"), at(3), LEASE).await.unwrap().unwrap();
    records.record_episode(honest.fence, episode(honest.episodes[0]), at(3)).await.unwrap();
    let held = records.claim_shard(&request("liar"), at(3), LEASE).await.unwrap().unwrap();

    let removal = records.quarantine_worker(&name("liar"), "wrong hash", at(4)).await.unwrap().unwrap();
    assert_eq!((removal.discarded, removal.concluded), (vec![(running, 0)], vec![(done, 0)]));
    let shard = |shard| Work::Shard { job_id: running, shard };
    assert_eq!(removal.requeued, [shard(held.fence.shard), shard(0)]);
    let state = records.worker_with_token(token("liar")).await.unwrap().unwrap().state;
    assert_eq!(state, WorkerState::Quarantined { reason: "wrong hash".into() });
    assert_eq!(records.quarantine_worker(&name("liar"), "again", at(5)).await.unwrap(), None);
    assert!(records.revoke_worker(&name("liar"), at(5)).await.unwrap().is_some());
    let state = records.worker_with_token(token("liar")).await.unwrap().unwrap().state;
    assert!(matches!(state, WorkerState::Quarantined { .. }), "a revocation does not hide why");

    let left: Vec<u32> = records.episodes(running, 0, 9).await.unwrap().iter().map(|episode| episode.episode).collect();
    assert_eq!(left, [honest.episodes[0]]);
    for second in 6..8 {
        let claim = records.claim_shard(&ShardRequest::new("here"), at(second), LEASE).await.unwrap().unwrap();
        let reasons = claim.notes.iter().filter_map(|note| match note {
            AttemptNote::Replaced(replaced) => Some(replaced.reason),
            _ => None,
        });
        let expected = match claim.fence.shard {
            0 => ReplacementReason::WorkerQuarantined,
            _ => ReplacementReason::LeaseExpired,
        };
        assert_eq!(reasons.collect::<Vec<_>>(), [expected]);
        records.record_episode(claim.fence, episode(claim.episodes[0]), at(second)).await.unwrap();
    }
    let job = records.job(None, running).await.unwrap().unwrap();
    assert!(matches!(job.state, JobState::Judging { .. }), "every episode counts once");
}
