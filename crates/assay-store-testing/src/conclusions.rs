//! Conclusions: from JUDGING to the end of a job.

use assay_model::{Artifact, JobId, Judgement, Sha256Digest};
use assay_store::{
    CancelOutcome, ConclusionClaim, JobState, Lease, MAX_LAPSES, MAX_RETRIES, Records, ReturnOutcome, SignedDocument,
    SignedDocuments, Work,
};

use super::fixtures::{LEASE, at, episode, job, outcome, signed};
use super::shards::claim;

pub(super) async fn judging(records: &dyn Records) -> JobId {
    records.create_job(job(1, "lab", 2, 2)).await.unwrap();
    let claim = claim(records).await;
    for index in [1, 0] {
        records.record_episode(claim.fence, episode(index), at(2)).await.unwrap();
    }
    claim.fence.job_id
}

pub(super) async fn take(records: &dyn Records, now: i64) -> ConclusionClaim {
    records.claim_conclusion("w", at(now), LEASE).await.unwrap().unwrap()
}

pub(super) async fn are_drawn_once(records: &dyn Records) {
    let id = judging(records).await;
    assert_eq!(records.claimable(9).await.unwrap(), [Work::Conclusion { job_id: id }]);
    let taken = take(records, 3).await;
    assert_eq!(taken.episodes, [episode(0), episode(1)]);
    assert_eq!(taken.header.job_id, id);
    assert!(records.claim_conclusion("other", at(3), LEASE).await.unwrap().is_none());
    let found = outcome(&taken.header, &taken.episodes);
    assert!(records.complete_job(taken.fence, found.clone(), signed(), at(4)).await.unwrap());
    let other = SignedDocuments { statement: b"another".to_vec(), ..signed() };
    assert!(!records.complete_job(taken.fence, found.clone(), other, at(5)).await.unwrap());
    let kept = async |document| records.signed_document(id, document).await.unwrap();
    assert_eq!(kept(SignedDocument::Report).await, Some(signed().report));
    assert_eq!(kept(SignedDocument::Statement).await, Some(signed().statement));
    let record = records.job(None, id).await.unwrap().unwrap();
    let report = record.report(&taken.episodes);
    assert_eq!((report.verdict, report.completed_at), (Some(found.conclusion.verdict), Some(at(4))));
    let expected = JobState::Completed { started_at: at(1), completed_at: at(4), outcome: Box::new(found) };
    assert_eq!(record.state, expected);
    assert_eq!(records.counts().await.unwrap().completed, 1);
    assert!(matches!(records.cancel_job(None, id, at(6)).await.unwrap(), CancelOutcome::Already(_)));
}

pub(super) async fn a_dead_worker_is_replaced(records: &dyn Records) {
    let id = judging(records).await;
    let stale = take(records, 3).await;
    assert_eq!(records.heartbeat_conclusion(stale.fence, at(5), LEASE).await.unwrap(), Lease::Held);
    assert!(records.reconcile(at(14)).await.unwrap().requeued.is_empty());
    assert_eq!(records.reconcile(at(15)).await.unwrap().requeued, [Work::Conclusion { job_id: id }]);
    let fresh = take(records, 16).await;
    assert_eq!(fresh.fence.attempt, 2);
    let found = outcome(&fresh.header, &fresh.episodes);
    assert!(!records.complete_job(stale.fence, found.clone(), signed(), at(17)).await.unwrap(), "fenced");
    assert_eq!(records.signed_document(id, SignedDocument::Report).await.unwrap(), None);
    assert_eq!(records.heartbeat_conclusion(stale.fence, at(17), LEASE).await.unwrap(), Lease::Lost);
    assert_eq!(records.return_conclusion(stale.fence, None, at(17)).await.unwrap(), ReturnOutcome::Fenced);
    assert!(records.complete_job(fresh.fence, found, signed(), at(17)).await.unwrap());
}

pub(super) async fn a_judgement_only_adds(records: &dyn Records) {
    let id = judging(records).await;
    let stale = take(records, 3).await;
    records.reconcile(at(15)).await.unwrap();
    let fresh = take(records, 16).await;
    let judgement = Judgement {
        model: "vision".into(),
        frames_s: vec![0.5],
        opinion: None,
        agrees: None,
        error: Some("silent".into()),
        tokens: 3,
    };
    let frame = Artifact { name: "episodes/001/a.png".into(), sha256: Sha256Digest::new([0; 32]), size_bytes: 1 };
    let judge = |fence, episode| records.add_judgement(fence, episode, judgement.clone(), vec![frame.clone()]);
    assert!(!judge(stale.fence, 1).await.unwrap(), "fenced");
    assert!(!judge(fresh.fence, 2).await.unwrap(), "no such episode");
    assert!(judge(fresh.fence, 1).await.unwrap());
    let mut expected = episode(1);
    expected.judge = Some(judgement.clone());
    expected.evidence.insert(0, frame.clone());
    assert_eq!(records.episodes(id, 0, 9).await.unwrap(), [episode(0), expected]);
    let found = outcome(&fresh.header, &fresh.episodes);
    assert!(records.complete_job(fresh.fence, found, signed(), at(17)).await.unwrap());
    assert!(!judge(fresh.fence, 0).await.unwrap(), "it is over");
}

pub(super) async fn failing_too_often_fails_the_job(records: &dyn Records) {
    let id = judging(records).await;
    for _ in 0..2 * MAX_RETRIES {
        let taken = take(records, 3).await;
        assert_eq!(records.return_conclusion(taken.fence, None, at(3)).await.unwrap(), ReturnOutcome::Requeued);
    }
    for failure in 0..=MAX_RETRIES {
        let taken = take(records, 3).await;
        let returned = records.return_conclusion(taken.fence, Some("the disk is full"), at(4)).await.unwrap();
        assert_eq!(returned, if failure < MAX_RETRIES { ReturnOutcome::Requeued } else { ReturnOutcome::JobFailed });
    }
    let found = records.job(None, id).await.unwrap().unwrap();
    let JobState::Failed { failure, .. } = found.state else { panic!("{:?}", found.state) };
    assert_eq!(failure.message, "the disk is full");
}

pub(super) async fn lapses_are_bounded(records: &dyn Records) {
    let id = judging(records).await;
    let mut now = 100;
    for _ in 0..MAX_LAPSES {
        take(records, now).await;
        now += 10;
        assert_eq!(records.reconcile(at(now)).await.unwrap().requeued.len(), 1);
    }
    take(records, now).await;
    assert_eq!(records.reconcile(at(now + 10)).await.unwrap().failed, [id]);
    assert!(records.claim_conclusion("w", at(now), LEASE).await.unwrap().is_none());
}
