//! Certifications: the first failure ends them, even if other workers are further ahead.

use assay_model::{EpisodeResult, EpisodeStatus, JobStatus};
use assay_store::{Claim, Lease, NewJob, RecordOutcome, Records, ShardRequest};

use super::fixtures::{LEASE, at, episode, job};
use super::shards::claim;

fn certification(episodes: u32, shard: u32) -> NewJob {
    let mut job = job(1, "lab", episodes, shard);
    job.header.plan.target = Some(0.05);
    job
}

fn failure(index: u32) -> EpisodeResult {
    EpisodeResult { status: EpisodeStatus::PolicyError, ..episode(index) }
}

async fn record(records: &dyn Records, claim: &Claim, result: EpisodeResult) -> RecordOutcome {
    records.record_episode(claim.fence, result, at(2)).await.unwrap()
}

pub(super) async fn end_at_their_first_failure(records: &dyn Records) {
    records.create_job(certification(9, 3)).await.unwrap();
    let shards = [claim(records).await, claim(records).await, claim(records).await];
    let id = shards[0].fence.job_id;
    for index in [6, 7] {
        record(records, &shards[2], episode(index)).await;
    }
    record(records, &shards[1], episode(3)).await;
    // Episode 4 fails: 5 to 8 no longer count, 0 to 2 still do.
    assert_eq!(record(records, &shards[1], failure(4)).await, RecordOutcome::New { left_in_shard: 0, left_in_job: 3 });
    assert_eq!(record(records, &shards[2], episode(8)).await, RecordOutcome::Fenced, "behind the end");
    assert_eq!(records.heartbeat(shards[2].fence, at(2), LEASE).await.unwrap(), Lease::Lost);
    record(records, &shards[0], episode(0)).await;
    // An earlier failure moves the end again.
    assert_eq!(record(records, &shards[0], failure(1)).await, RecordOutcome::New { left_in_shard: 0, left_in_job: 0 });
    assert_eq!(record(records, &shards[0], episode(2)).await, RecordOutcome::Fenced);
    assert_eq!(records.episodes(id, 0, 100).await.unwrap(), [episode(0), failure(1)]);
    let found = records.job(None, id).await.unwrap().unwrap();
    assert_eq!((found.state.status(), found.episodes_done), (JobStatus::Judging, 2));
    assert_eq!(found.report(&[]).num_episodes, 9, "the plan stays what it was");
    let conclusion = records.claim_conclusion("w", at(3), LEASE).await.unwrap().unwrap();
    assert_eq!(conclusion.episodes, [episode(0), failure(1)]);
}

pub(super) async fn fence_whoever_is_further(records: &dyn Records) {
    records.create_job(certification(6, 2)).await.unwrap();
    let first = claim(records).await;
    record(records, &first, failure(0)).await;
    assert!(
        records.claim_shard(&ShardRequest::new("w"), at(3), LEASE).await.unwrap().is_none(),
        "nothing is left to run"
    );
    assert_eq!(record(records, &first, failure(0)).await, RecordOutcome::Duplicate, "asked again by its writer");
    assert_eq!(record(records, &first, episode(1)).await, RecordOutcome::Fenced);
    // Without a target, failures end nothing.
    records.create_job(job(2, "lab", 2, 1)).await.unwrap();
    let plain = claim(records).await;
    assert_eq!(record(records, &plain, failure(0)).await, RecordOutcome::New { left_in_shard: 0, left_in_job: 1 });
}
