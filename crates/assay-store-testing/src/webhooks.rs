//! Webhooks.

use assay_model::{AccountId, JobId, Secret};
use assay_store::{
    CancelOutcome, Delivery, DeliveryAttempt, DeliveryFilter, DeliveryState, EraseOutcome, MAX_KEPT_ATTEMPTS, NewJob,
    Records,
};

use super::arena;
use super::fixtures::{LEASE, at, job};

fn reported(job: NewJob) -> NewJob {
    NewJob { callback_url: Some(Secret::new("https://lab.test/hook?token=t")), ..job }
}

async fn created(records: &dyn Records, number: u64, account: &str) -> JobId {
    let new = reported(job(number, account, 1, 1));
    let id = new.header.job_id;
    records.create_job(new).await.unwrap();
    id
}

async fn ended(records: &dyn Records, number: u64, account: &str) -> JobId {
    let id = created(records, number, account).await;
    assert_eq!(records.cancel_job(None, id, at(1)).await.unwrap(), CancelOutcome::Done);
    id
}

fn failed(second: i64) -> DeliveryAttempt {
    DeliveryAttempt { at: at(second), status: Some(503), error: Some("answered 503".into()) }
}

async fn only(records: &dyn Records, job: JobId) -> Delivery {
    let filter = DeliveryFilter { job: Some(job), limit: 2, ..Default::default() };
    let (mut found, total) = records.deliveries(&filter).await.unwrap();
    assert_eq!((found.len(), total), (1, 1));
    found.remove(0)
}

pub(super) async fn secrets_overlap(records: &dyn Records) {
    let lab: AccountId = "lab".parse().unwrap();
    assert!(records.webhook_secrets(&lab).await.unwrap().is_none());
    for (number, second) in [("one", 1), ("two", 2), ("three", 3)] {
        records.set_webhook_secret(&lab, Secret::new(number), at(second + 100), at(second)).await.unwrap();
        let kept = records.webhook_secrets(&lab).await.unwrap().unwrap();
        assert_eq!((kept.current.reveal(), kept.created_at), (number, at(second)));
    }
    let kept = records.webhook_secrets(&lab).await.unwrap().unwrap();
    let (previous, until) = kept.previous.unwrap();
    assert_eq!((previous.reveal(), until), ("two", at(103)), "the one before that is gone");
    assert!(records.webhook_secrets(&"other".parse().unwrap()).await.unwrap().is_none());
}

pub(super) async fn are_due_when_their_job_has_ended(records: &dyn Records) {
    let id = created(records, 1, "lab").await;
    records.create_job(job(2, "lab", 1, 1)).await.unwrap();
    assert!(records.claim_delivery(&[], at(5), LEASE).await.unwrap().is_none(), "it has not ended");
    records.cancel_job(None, id, at(6)).await.unwrap();
    let due = records.claim_delivery(&[], at(6), LEASE).await.unwrap().unwrap();
    assert_eq!((due.job_id, due.account.as_str(), due.attempts), (id, "lab", 0));
    assert_eq!(due.url.reveal(), "https://lab.test/hook?token=t");
    assert!(records.claim_delivery(&[], at(15), LEASE).await.unwrap().is_none(), "it is claimed");
    assert!(records.claim_delivery(&[], at(16), LEASE).await.unwrap().is_some(), "the claim has expired");

    records.record_delivery_attempt(id, failed(17), DeliveryState::Pending, at(30)).await.unwrap();
    assert!(records.claim_delivery(&[], at(29), LEASE).await.unwrap().is_none());
    assert!(records.claim_delivery(&[], at(30), LEASE).await.unwrap().is_some());
    let done = DeliveryAttempt { at: at(31), status: Some(204), error: None };
    records.record_delivery_attempt(id, done.clone(), DeliveryState::Delivered, at(31)).await.unwrap();
    records.record_delivery_attempt(id, failed(32), DeliveryState::Pending, at(32)).await.unwrap();
    let kept = only(records, id).await;
    assert_eq!((kept.state, kept.attempts, kept.first_at), (DeliveryState::Delivered, 2, Some(at(17))));
    assert_eq!(kept.log, [failed(17), done], "the end is the end");
    assert!(records.claim_delivery(&[], at(1000), LEASE).await.unwrap().is_none());
}

pub(super) async fn of_busy_accounts_wait(records: &dyn Records) {
    let (one, two) = (ended(records, 1, "lab").await, ended(records, 2, "other").await);
    let lab: AccountId = "lab".parse().unwrap();
    let claimed = records.claim_delivery(std::slice::from_ref(&lab), at(5), LEASE).await.unwrap().unwrap();
    assert_eq!(claimed.job_id, two);
    assert!(records.claim_delivery(&[lab], at(5), LEASE).await.unwrap().is_none());
    assert_eq!(records.claim_delivery(&[], at(5), LEASE).await.unwrap().unwrap().job_id, one);
}

pub(super) async fn are_listed_and_bounded(records: &dyn Records) {
    let (one, two) = (ended(records, 1, "lab").await, ended(records, 2, "lab").await);
    let three = ended(records, 3, "other").await;
    for second in 0..30 {
        records.record_delivery_attempt(one, failed(second), DeliveryState::Pending, at(second)).await.unwrap();
    }
    let kept = only(records, one).await;
    assert_eq!((kept.attempts, kept.log.len()), (30, MAX_KEPT_ATTEMPTS));
    assert_eq!(kept.log.last(), Some(&failed(29)));
    records.record_delivery_attempt(two, failed(1), DeliveryState::GivenUp, at(1)).await.unwrap();
    let listed = async |account: Option<&str>, state, (limit, offset)| {
        let account = account.map(|name| name.parse().unwrap());
        let (found, total) =
            records.deliveries(&DeliveryFilter { account, job: None, state, limit, offset }).await.unwrap();
        (found.iter().map(|delivery| delivery.job_id).collect::<Vec<_>>(), total)
    };
    assert_eq!(listed(None, None, (10, 0)).await, (vec![three, two, one], 3));
    assert_eq!(listed(Some("lab"), None, (1, 1)).await, (vec![one], 2));
    assert_eq!(listed(Some("lab"), Some(DeliveryState::GivenUp), (10, 0)).await, (vec![two], 1));
    assert_eq!(records.erase_job(None, one, at(40)).await.unwrap(), EraseOutcome::Done);
    assert_eq!(listed(Some("lab"), None, (10, 0)).await, (vec![two], 1), "the address goes with the job");
}

pub(super) async fn wait_until_an_end_is_published(records: &dyn Records) {
    let id = arena::ended_in_an_open_season(records, reported).await;
    // It ended at 4 s, which is published at 15 s.
    assert!(records.claim_delivery(&[], at(14), LEASE).await.unwrap().is_none());
    assert_eq!(records.claim_delivery(&[], at(15), LEASE).await.unwrap().unwrap().job_id, id);
}
