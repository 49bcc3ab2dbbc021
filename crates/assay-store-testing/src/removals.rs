//! Removal of the files of jobs that have ended.

use assay_model::{AccountId, JobId, JobStatus};
use assay_store::{
    CancelOutcome, EraseOutcome, EvidenceRemoval, NewJob, Records, Removal, RemovalTimes, SignedDocument,
};

use super::conclusions::{judging, take};
use super::fixtures::{at, job, outcome, signed};

/// Creates job `number` with the archive `policy`, cancelled at second `ended`.
async fn ended(records: &dyn Records, number: u64, policy: &str, ended: i64) -> JobId {
    let new = NewJob { policy_path: Some(policy.into()), ..job(number, "lab", 2, 2) };
    let id = new.header.job_id;
    records.create_job(new).await.unwrap();
    assert_eq!(records.cancel_job(None, id, at(ended)).await.unwrap(), CancelOutcome::Done);
    id
}

async fn removed(records: &dyn Records, id: JobId) -> RemovalTimes {
    records.job(None, id).await.unwrap().unwrap().removed
}

pub(super) async fn erase_all_but_the_record(records: &dyn Records) {
    let (one, two) = (ended(records, 1, "p.zip", 5).await, ended(records, 2, "p.zip", 5).await);
    let open = job(3, "lab", 2, 2);
    let running = open.header.job_id;
    records.create_job(open).await.unwrap();
    let (mine, other): (AccountId, AccountId) = ("lab".parse().unwrap(), "other".parse().unwrap());
    assert_eq!(records.erase_job(Some(&other), one, at(6)).await.unwrap(), EraseOutcome::NotFound);
    assert_eq!(records.erase_job(Some(&mine), running, at(6)).await.unwrap(), EraseOutcome::Open(JobStatus::Queued));
    assert_eq!(removed(records, one).await, RemovalTimes::default());
    assert_eq!(records.erase_job(Some(&mine), one, at(6)).await.unwrap(), EraseOutcome::Done);
    assert_eq!(records.erase_job(None, one, at(7)).await.unwrap(), EraseOutcome::Already(at(6)));
    let all = RemovalTimes { erased_at: Some(at(6)), evidence_at: Some(at(6)), policy_at: Some(at(6)) };
    assert_eq!(removed(records, one).await, all);
    assert!(records.is_policy_needed("p.zip").await.unwrap(), "the other job's");

    let due = records.pending_removals(10).await.unwrap();
    assert_eq!(due.iter().map(|removal| removal.job_id).collect::<Vec<_>>(), [one, two]);
    assert_eq!((due[0].erased, due[0].evidence), (true, EvidenceRemoval::All));
    assert_eq!(due[0].policy_path.as_deref(), Some("p.zip"));
    let files_without_record =
        Removal { job_id: two, erased: false, evidence: EvidenceRemoval::Unrecorded, policy_path: None };
    assert_eq!(due[1], files_without_record);
    for id in [one, two] {
        records.finish_removal(id, at(8)).await.unwrap();
    }
    assert_eq!(records.pending_removals(10).await.unwrap().len(), 2, "a lane may not know yet");
    for id in [one, two] {
        records.finish_removal(id, at(100)).await.unwrap();
    }
    assert_eq!(records.pending_removals(10).await.unwrap(), []);
    assert_eq!(records.erase_job(None, two, at(9)).await.unwrap(), EraseOutcome::Done);
    assert!(!records.is_policy_needed("p.zip").await.unwrap());
}

pub(super) async fn erase_what_was_signed(records: &dyn Records) {
    let id = judging(records).await;
    let claim = take(records, 3).await;
    let found = outcome(&claim.header, &claim.episodes);
    assert!(records.complete_job(claim.fence, found, signed(), at(4)).await.unwrap());
    assert!(records.signed_document(id, SignedDocument::Report).await.unwrap().is_some());
    assert_eq!(records.erase_job(None, id, at(5)).await.unwrap(), EraseOutcome::Done);
    for document in [SignedDocument::Report, SignedDocument::Statement] {
        assert_eq!(records.signed_document(id, document).await.unwrap(), None);
    }
}

pub(super) async fn go_by_age(records: &dyn Records) {
    let (late, early) = (ended(records, 1, "a.zip", 20).await, ended(records, 2, "b.zip", 10).await);
    records.create_job(job(3, "lab", 2, 2)).await.unwrap();
    assert_eq!(records.jobs_with_evidence(at(30), 10).await.unwrap(), [early, late], "as they ended");
    assert_eq!(records.jobs_with_evidence(at(20), 10).await.unwrap(), [early]);
    assert!(records.drop_evidence(early, at(31)).await.unwrap());
    assert!(!records.drop_evidence(early, at(32)).await.unwrap(), "once");
    assert_eq!(records.jobs_with_evidence(at(30), 10).await.unwrap(), [late]);
    assert_eq!(removed(records, early).await, RemovalTimes { evidence_at: Some(at(31)), ..RemovalTimes::default() });
    for (before, limit, due) in [(15, 10, 1), (25, 10, 2), (25, 1, 1), (5, 10, 0)] {
        assert_eq!(records.count_old_policies(at(before), limit).await.unwrap(), due, "before {before}");
    }
    assert_eq!(records.drop_policies(at(15), 10, at(33)).await.unwrap(), 1);
    assert_eq!(records.drop_policies(at(15), 10, at(33)).await.unwrap(), 0);
    assert_eq!(records.count_old_policies(at(15), 10).await.unwrap(), 0);
    let due = records.pending_removals(10).await.unwrap();
    let early = due.iter().find(|removal| removal.job_id == early).unwrap();
    assert_eq!((early.erased, early.evidence), (false, EvidenceRemoval::All));
    assert_eq!(early.policy_path.as_deref(), Some("b.zip"));
    assert!(!records.drop_evidence(job(3, "lab", 2, 2).header.job_id, at(34)).await.unwrap(), "not of a job that runs");
}
