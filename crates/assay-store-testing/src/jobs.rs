//! Jobs without workers.

use assay_model::{Blame, JobStatus};
use assay_store::{CancelOutcome, JobFailure, JobFilter, JobState, Records, ShardRequest, StoreError, Work};

use super::fixtures::{LEASE, at, job};

pub(super) async fn come_back_as_they_were(records: &dyn Records) {
    let new = job(1, "lab", 7, 3);
    assert_eq!(records.create_job(new.clone()).await.unwrap(), 3);
    records.create_job(job(2, "lab", 1, 3)).await.unwrap();
    let found = records.job(None, new.header.job_id).await.unwrap().unwrap();
    assert_eq!(found.header, new.header);
    assert_eq!(found.policy_path, new.policy_path);
    assert_eq!(found.state, JobState::Queued);
    let (one, two) = (new.header.job_id, job(2, "lab", 1, 3).header.job_id);
    assert_eq!(records.queued_between(None, one).await.unwrap(), 1);
    assert_eq!(records.queued_between(None, two).await.unwrap(), 2);
    assert_eq!(records.queued_between(Some(one), two).await.unwrap(), 1);
    let work = records.claimable(100).await.unwrap();
    assert_eq!(work.len(), 4);
    assert_eq!(work[0], Work::Shard { job_id: new.header.job_id, shard: 0 });
    assert_eq!(records.claimable(2).await.unwrap(), work[..2]);
    records.ping().await.unwrap();
}

pub(super) async fn are_unique(records: &dyn Records) {
    records.create_job(job(1, "lab", 2, 1)).await.unwrap();
    let again = records.create_job(job(1, "thief", 5, 1)).await;
    assert!(matches!(again, Err(StoreError::Exists { what: "job", .. })), "{again:?}");
    assert!(matches!(records.create_job(job(2, "lab", 0, 1)).await, Err(StoreError::Invalid(_))));
    assert_eq!(records.claimable(100).await.unwrap().len(), 2, "a refused job leaves nothing behind");
}

pub(super) async fn belong_to_their_account(records: &dyn Records) {
    let new = job(1, "lab", 1, 1);
    records.create_job(new.clone()).await.unwrap();
    let other = "other".parse().unwrap();
    assert!(records.job(Some(&new.account), new.header.job_id).await.unwrap().is_some());
    assert!(records.job(Some(&other), new.header.job_id).await.unwrap().is_none());
    assert_eq!(records.cancel_job(Some(&other), new.header.job_id, at(1)).await.unwrap(), CancelOutcome::NotFound);
    let filter = JobFilter { account: Some(other), limit: 10, ..JobFilter::default() };
    assert_eq!(records.jobs(&filter).await.unwrap(), (vec![], 0));
}

pub(super) async fn are_listed_newest_first(records: &dyn Records) {
    for number in 1..=5 {
        records.create_job(job(number, "lab", 1, 1)).await.unwrap();
    }
    let ids = async |filter: JobFilter| {
        let (jobs, total) = records.jobs(&filter).await.unwrap();
        (jobs.into_iter().map(|j| j.header.policy_name).collect::<Vec<_>>(), total)
    };
    let page = JobFilter { account: Some("lab".parse().unwrap()), limit: 2, ..JobFilter::default() };
    assert_eq!(ids(page.clone()).await, (vec!["policy 5".to_owned(), "policy 4".to_owned()], 5));
    assert_eq!(ids(JobFilter { offset: 4, ..page.clone() }).await.0, ["policy 1"]);
    let before = Some(job(3, "lab", 1, 1).header.job_id);
    assert_eq!(
        ids(JobFilter { before, ..page.clone() }).await,
        (vec!["policy 2".to_owned(), "policy 1".to_owned()], 5)
    );
    let status = Some(JobStatus::Running);
    assert_eq!(ids(JobFilter { status, ..page.clone() }).await, (vec![], 0));
    let scenario = Some("elsewhere".parse().unwrap());
    assert_eq!(ids(JobFilter { scenario, ..page.clone() }).await, (vec![], 0));
    assert_eq!(ids(JobFilter { account: None, ..page }).await.1, 5);
}

pub(super) async fn can_be_cancelled(records: &dyn Records) {
    let new = job(1, "lab", 2, 1);
    let id = new.header.job_id;
    records.create_job(new.clone()).await.unwrap();
    assert_eq!(records.cancel_job(Some(&new.account), id, at(3)).await.unwrap(), CancelOutcome::Done);
    assert_eq!(
        records.cancel_job(None, id, at(4)).await.unwrap(),
        CancelOutcome::Already(JobStatus::Cancelled),
        "once is enough"
    );
    let found = records.job(None, id).await.unwrap().unwrap();
    assert_eq!(found.state, JobState::Cancelled { started_at: None, completed_at: at(3) });
    assert!(records.claim_shard(&ShardRequest::new("w"), at(5), LEASE).await.unwrap().is_none());
    assert!(records.claimable(10).await.unwrap().is_empty());
    assert_eq!(records.counts().await.unwrap().cancelled, 1);
}

pub(super) async fn can_be_failed_once(records: &dyn Records) {
    let new = job(1, "lab", 2, 1);
    let id = new.header.job_id;
    records.create_job(new).await.unwrap();
    let failure = JobFailure { blame: Blame::Scenario, message: "no such mesh".into() };
    assert!(records.fail_job(id, failure.clone(), at(3)).await.unwrap());
    let other = JobFailure { blame: Blame::Platform, message: "late".into() };
    assert!(!records.fail_job(id, other, at(4)).await.unwrap());
    let found = records.job(None, id).await.unwrap().unwrap();
    assert_eq!(found.state, JobState::Failed { started_at: None, completed_at: at(3), failure });
    let report = found.report(&[]);
    assert_eq!((report.blame, report.error_message.as_deref()), (Some(Blame::Scenario), Some("no such mesh")));
}
