//! Requests that take effect once.

use assay_store::{
    IdempotencyClaim, IdempotencyKey, IdempotencyStart, JobFilter, REQUEST_LEASE, RESPONSE_LIFETIME, Records,
    StoredResponse,
};
use uuid::Uuid;

use super::fixtures::{at, job};

fn once(account: &str, key: &str, request: u8, attempt: u128) -> IdempotencyClaim {
    IdempotencyClaim {
        account: account.parse().unwrap(),
        key: IdempotencyKey::parse(key).unwrap(),
        request: [request; 32],
        attempt: Uuid::from_u128(attempt),
    }
}

fn answer(text: &str) -> StoredResponse {
    StoredResponse { status: 201, location: Some("/verify/x".into()), body: Some(text.into()) }
}

pub(super) async fn are_given_again(records: &dyn Records) {
    let first = once("lab", "k", 1, 1);
    assert_eq!(records.begin_request(first.clone(), at(0)).await.unwrap(), IdempotencyStart::New);
    assert_eq!(records.begin_request(once("lab", "k", 1, 2), at(1)).await.unwrap(), IdempotencyStart::Running);
    assert_eq!(records.begin_request(once("lab", "k", 9, 2), at(1)).await.unwrap(), IdempotencyStart::Other);
    assert_eq!(
        records.begin_request(once("other", "k", 9, 3), at(1)).await.unwrap(),
        IdempotencyStart::New,
        "an account's own"
    );
    assert!(!records.finish_request(once("lab", "k", 1, 2), answer("no")).await.unwrap(), "another attempt's key");
    assert!(records.finish_request(first, answer("yes")).await.unwrap());
    assert_eq!(
        records.begin_request(once("lab", "k", 1, 4), at(2)).await.unwrap(),
        IdempotencyStart::Done(answer("yes"))
    );
    assert_eq!(records.begin_request(once("lab", "k", 9, 4), at(2)).await.unwrap(), IdempotencyStart::Other);
    let over = at(0).saturating_add(RESPONSE_LIFETIME).unwrap();
    assert_eq!(
        records.begin_request(once("lab", "k", 9, 5), over).await.unwrap(),
        IdempotencyStart::New,
        "after a day"
    );
}

pub(super) async fn come_with_their_job(records: &dyn Records) {
    let (mine, stale) = (once("lab", "k", 1, 1), once("lab", "k", 1, 2));
    assert_eq!(records.begin_request(mine.clone(), at(0)).await.unwrap(), IdempotencyStart::New);
    let refused = records.create_job_idempotently(job(1, "lab", 4, 2), stale, answer("no")).await.unwrap();
    assert_eq!(refused, None);
    assert_eq!(records.jobs(&JobFilter { limit: 1, ..Default::default() }).await.unwrap().1, 0, "no job without a key");
    let created = records.create_job_idempotently(job(1, "lab", 4, 2), mine.clone(), answer("early")).await.unwrap();
    assert_eq!(created, Some(2), "shards");
    // From here on the request is done, even if the server that processed it dies.
    records.abandon_request(mine.clone()).await.unwrap();
    assert_eq!(
        records.begin_request(once("lab", "k", 1, 3), at(1)).await.unwrap(),
        IdempotencyStart::Done(answer("early"))
    );
    assert!(records.finish_request(mine, answer("late")).await.unwrap());
    assert_eq!(
        records.begin_request(once("lab", "k", 1, 4), at(1)).await.unwrap(),
        IdempotencyStart::Done(answer("late"))
    );
    // A job that cannot be created leaves no response.
    let next = once("lab", "l", 1, 5);
    assert_eq!(records.begin_request(next.clone(), at(1)).await.unwrap(), IdempotencyStart::New);
    records.create_job_idempotently(job(1, "lab", 4, 2), next, answer("taken")).await.unwrap_err();
    assert_eq!(records.begin_request(once("lab", "l", 1, 6), at(1)).await.unwrap(), IdempotencyStart::Running);
}

pub(super) async fn block_nobody_for_ever(records: &dyn Records) {
    let first = once("lab", "k", 1, 1);
    assert_eq!(records.begin_request(first.clone(), at(0)).await.unwrap(), IdempotencyStart::New);
    records.abandon_request(once("lab", "k", 1, 2)).await.unwrap();
    assert_eq!(
        records.begin_request(once("lab", "k", 1, 2), at(1)).await.unwrap(),
        IdempotencyStart::Running,
        "not one's own"
    );
    records.abandon_request(first.clone()).await.unwrap();
    assert_eq!(records.begin_request(once("lab", "k", 2, 2), at(1)).await.unwrap(), IdempotencyStart::New);
    let dead = at(1).saturating_add(REQUEST_LEASE).unwrap();
    assert_eq!(
        records.begin_request(once("lab", "k", 1, 3), dead).await.unwrap(),
        IdempotencyStart::New,
        "the attempt counts as dead"
    );
    assert!(!records.finish_request(once("lab", "k", 2, 2), answer("late")).await.unwrap());
}

pub(super) async fn are_forgotten(records: &dyn Records) {
    let day = at(0).saturating_add(RESPONSE_LIFETIME).unwrap();
    for (key, second) in [("old", 0), ("new", 60)] {
        assert_eq!(records.begin_request(once("lab", key, 1, 1), at(second)).await.unwrap(), IdempotencyStart::New);
        assert!(records.finish_request(once("lab", key, 1, 1), answer(key)).await.unwrap());
    }
    assert_eq!(records.begin_request(once("lab", "dead", 1, 1), at(60)).await.unwrap(), IdempotencyStart::New);
    assert_eq!(records.purge_responses(at(61)).await.unwrap(), 0);
    assert_eq!(records.purge_responses(day).await.unwrap(), 2);
    assert_eq!(
        records.begin_request(once("lab", "new", 1, 2), day).await.unwrap(),
        IdempotencyStart::Done(answer("new"))
    );
}
