//! Events: one for each change, in its transaction.

use assay_model::{Blame, JobId, JobStatus, Verdict};
use assay_store::{EventPosition, EventRecord, JobFailure, NewJob, Records, ShardRequest};

use super::fixtures::{LEASE, at, episode, job, outcome, signed};

async fn run_to_judging(records: &dyn Records, id: JobId) {
    for second in 1.. {
        let Some(claim) = records.claim_shard(&ShardRequest::new("w"), at(second), LEASE).await.unwrap() else {
            return;
        };
        assert_eq!(claim.fence.job_id, id);
        for index in claim.episodes {
            records.record_episode(claim.fence, episode(index), at(second * 10 + i64::from(index))).await.unwrap();
        }
    }
}

fn summaries(events: &[EventRecord]) -> Vec<(u32, JobStatus, u32)> {
    events.iter().map(|event| (event.number, event.status, event.episodes_done)).collect()
}

pub(super) async fn tell_of_every_change(records: &dyn Records) {
    let new = job(1, "lab", 3, 2);
    let id = new.header.job_id;
    records.create_job(new.clone()).await.unwrap();
    run_to_judging(records, id).await;
    let claim = records.claim_conclusion("w", at(90), LEASE).await.unwrap().unwrap();
    let found = outcome(&claim.header, &claim.episodes);
    records.complete_job(claim.fence, found.clone(), signed(), at(99)).await.unwrap();

    let events = records.events(id, 0, 100).await.unwrap();
    use JobStatus::{Completed, Judging, Queued, Running};
    let expected = [
        (1, Queued, 0),
        (2, Running, 0),
        (3, Running, 1),
        (4, Running, 2),
        (5, Running, 3),
        (6, Judging, 3),
        (7, Completed, 3),
    ];
    assert_eq!(summaries(&events), expected);
    assert_eq!(events.iter().map(|event| event.at).collect::<Vec<_>>(), [0, 1, 10, 11, 22, 22, 99].map(at));
    assert!(events.iter().all(|event| event.episodes_total == 3 && event.failure.is_none()));
    assert_eq!(events[6].verdict, Some(found.conclusion.verdict));
    assert!(events[..6].iter().all(|event| event.verdict.is_none()));
    assert_eq!(records.last_event(id).await.unwrap().as_ref(), events.last());
    assert_eq!(records.events(id, 5, 100).await.unwrap(), events[5..], "from where one was");
    assert_eq!(records.events(id, 2, 2).await.unwrap(), events[2..4], "no more than asked for");
    assert_eq!(records.events(id, 7, 100).await.unwrap(), []);
    assert_eq!(records.last_event(job(9, "lab", 1, 1).header.job_id).await.unwrap(), None);
}

pub(super) async fn tell_why_a_job_failed(records: &dyn Records) {
    let new = job(1, "lab", 1, 1);
    let id = new.header.job_id;
    records.create_job(new).await.unwrap();
    let failure = JobFailure { blame: Blame::Platform, message: "no disk".into() };
    records.fail_job(id, failure, at(3)).await.unwrap();
    let last = records.last_event(id).await.unwrap().unwrap();
    assert_eq!((last.number, last.status, last.failure.as_deref()), (2, JobStatus::Failed, Some("no disk")));
    assert_eq!((last.at, last.verdict), (at(3), None::<Verdict>));
}

pub(super) async fn are_not_told_twice(records: &dyn Records) {
    let new = job(1, "lab", 2, 2);
    let id = new.header.job_id;
    records.create_job(new).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    records.record_episode(claim.fence, episode(0), at(2)).await.unwrap();
    records.record_episode(claim.fence, episode(0), at(3)).await.unwrap();
    records.release_shard(claim.fence).await.unwrap();
    records.claim_shard(&ShardRequest::new("w"), at(4), LEASE).await.unwrap().unwrap();
    records.cancel_job(None, id, at(5)).await.unwrap();
    records.cancel_job(None, id, at(6)).await.unwrap();
    let events = records.events(id, 0, 100).await.unwrap();
    use JobStatus::{Cancelled, Queued, Running};
    assert_eq!(summaries(&events), [(1, Queued, 0), (2, Running, 0), (3, Running, 1), (4, Cancelled, 1)]);
}

pub(super) async fn of_several_jobs_are_read_together(records: &dyn Records) {
    let mut changes = records.changes();
    changes.mark_unchanged();
    let [first, second, third] = [job(1, "lab", 1, 1), job(2, "other", 1, 1), job(3, "lab", 1, 1)];
    let position = |job: &NewJob, after| EventPosition { job_id: job.header.job_id, after };
    records.create_job(first.clone()).await.unwrap();
    assert!(changes.has_changed().unwrap(), "a hint that something happened");
    for job in [&second, &third] {
        records.create_job(job.clone()).await.unwrap();
    }
    for job in [&first, &second] {
        records.cancel_job(None, job.header.job_id, at(1)).await.unwrap();
    }
    let of = async |positions: &[EventPosition], limit| {
        let events = records.events_of(positions, limit).await.unwrap();
        events.iter().map(|event| (event.job_id, event.number)).collect::<Vec<_>>()
    };
    let ids = [&first, &second, &third].map(|job| job.header.job_id);
    let positions = [position(&second, 0), position(&first, 1), position(&third, 1)];
    let expected = [(ids[1], 1), (ids[1], 2), (ids[0], 2)];
    assert_eq!(of(&positions, 100).await, expected, "in the order of the positions");
    assert_eq!(of(&positions, 2).await, expected[..2]);
    assert_eq!(of(&[position(&job(9, "lab", 1, 1), 0)], 100).await, [], "an unknown job has none");
    assert_eq!(of(&[], 100).await, []);
}
