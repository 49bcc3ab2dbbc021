//! The snapshot of the queue, and measured durations.

use assay_store::{QueueSnapshot, Records, ShardRequest};

use super::fixtures::{LEASE, at, episode, job, outcome, signed};

pub(super) async fn tells_who_waits_and_who_works(records: &dyn Records) {
    assert_eq!(records.queue_snapshot(100, at(20)).await.unwrap(), QueueSnapshot::default());
    let (first, second) = (job(1, "lab", 4, 2), job(2, "other", 3, 3));
    records.create_job(first.clone()).await.unwrap();
    records.create_job(second.clone()).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(10), LEASE).await.unwrap().unwrap();
    records.record_episode(claim.fence, episode(0), at(13)).await.unwrap();
    let line = records.queue_snapshot(100, at(20)).await.unwrap();
    assert!(line.later.is_empty());
    let shards: Vec<_> =
        line.shards.iter().map(|shard| (shard.job_id, shard.is_queued_job, shard.episodes_left, shard.since)).collect();
    let (one, two) = (first.header.job_id, second.header.job_id);
    assert_eq!(shards, [(one, false, 1, Some(at(13))), (one, false, 2, None), (two, true, 3, None)]);
    assert_eq!(*line.shards[2].account, second.account);
    let short = records.queue_snapshot(1, at(20)).await.unwrap();
    assert_eq!((short.shards, short.later), (line.shards[..2].to_vec(), vec![two]), "the oldest of those that wait");
    records.cancel_job(None, one, at(14)).await.unwrap();
    assert_eq!(records.queue_snapshot(100, at(20)).await.unwrap().shards, line.shards[2..]);
}

pub(super) async fn tells_how_long_things_take(records: &dyn Records) {
    records.create_job(job(1, "lab", 3, 3)).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(0), LEASE).await.unwrap().unwrap();
    for (index, second) in [(0, 4), (1, 6), (2, 9)] {
        records.record_episode(claim.fence, episode(index), at(second)).await.unwrap();
    }
    let line = records.queue_snapshot(100, at(20)).await.unwrap();
    assert_eq!((line.shards.len(), line.episode_durations.len(), line.conclusion_s), (0, 1, None));
    assert!((line.episode_durations[0].seconds - 3.0).abs() < 1e-9, "the mean of 4, 2 and 3 s: {line:?}");
    assert!(!line.episode_durations[0].remote && line.episode_durations[0].scenario == claim.header.scenario);
    let claim = records.claim_conclusion("w", at(10), LEASE).await.unwrap().unwrap();
    records.complete_job(claim.fence, outcome(&claim.header, &claim.episodes), signed(), at(11)).await.unwrap();
    assert_eq!(
        records.queue_snapshot(100, at(20)).await.unwrap().conclusion_s,
        Some(2.0),
        "from the last result to the verdict"
    );
}
