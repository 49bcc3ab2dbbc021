//! Models, and the jobs that use them.

use assay_model::{AccountId, DeclaredModel, ModelUploadId, Sha256Digest};
use assay_store::{
    AnnounceOutcome, Cap, CapExceeded, ModelQuota, ModelRecord, ModelRemoval, ModelState, NewJob, NewModel, Records,
    StoreError,
};
use uuid::Uuid;

use super::fixtures::{at, job};

const LARGE: ModelQuota = ModelQuota { models: 100, bytes: 1 << 40 };

fn account(name: &str) -> AccountId {
    name.parse().unwrap()
}

fn digest(number: u8) -> Sha256Digest {
    Sha256Digest::new([number; 32])
}

/// Returns the announcement of model `number`, of 100 bytes, by `name`.
fn model(number: u8, name: &str) -> NewModel {
    NewModel {
        account: account(name),
        sha256: digest(number),
        size_bytes: 100,
        name: Some(format!("model {number}")),
        upload: ModelUploadId(Uuid::from_u128((u128::from(number) << 8) | name.len() as u128)),
        created_at: at(i64::from(number)),
        expires_at: at(1000),
    }
}

async fn announced(records: &dyn Records, new: NewModel) -> ModelRecord {
    match records.announce_model(new, LARGE).await.unwrap() {
        AnnounceOutcome::New(record) => record,
        AnnounceOutcome::Known(known) => panic!("{known:?} is known"),
    }
}

/// Announces and completes a model at second `end`.
async fn ready(records: &dyn Records, number: u8, name: &str, end: i64) {
    let record = announced(records, model(number, name)).await;
    assert!(records.complete_model(record.upload, at(end)).await.unwrap());
}

/// Returns a job that uses these models.
fn using(number: u64, name: &str, models: &[u8]) -> NewJob {
    let mut new = job(number, name, 2, 2);
    let declared =
        |number: &u8| DeclaredModel { path: format!("m{number}"), sha256: digest(*number), size_bytes: None };
    new.header.models = models.iter().map(declared).collect();
    new
}

pub(super) async fn come_back_as_they_were(records: &dyn Records) {
    let (lab, other) = (account("lab"), account("other"));
    let first = announced(records, model(1, "lab")).await;
    let state = ModelState::Uploading { expires_at: at(1000) };
    assert_eq!((first.received_bytes, first.size_bytes, first.state), (0, 100, state));
    let again = NewModel { size_bytes: 7, upload: ModelUploadId(Uuid::from_u128(1)), ..model(1, "lab") };
    assert_eq!(records.announce_model(again, LARGE).await.unwrap(), AnnounceOutcome::Known(first.clone()));
    assert_eq!(records.model(&lab, digest(1)).await.unwrap(), Some(first.clone()));
    assert_eq!(records.model_upload(&lab, first.upload).await.unwrap(), Some(first.clone()));
    assert_eq!(records.model(&other, digest(1)).await.unwrap(), None);
    assert_eq!(records.model_upload(&other, first.upload).await.unwrap(), None);
    let foreign = announced(records, model(1, "other")).await;
    assert_ne!(foreign.upload, first.upload, "accounts have their own");

    assert!(records.record_model_bytes(first.upload, 60, at(2000)).await.unwrap());
    let state = ModelState::Uploading { expires_at: at(2000) };
    let more = ModelRecord { received_bytes: 60, state, ..first.clone() };
    assert_eq!(records.model(&lab, digest(1)).await.unwrap(), Some(more));
    assert!(records.complete_model(first.upload, at(50)).await.unwrap());
    assert!(!records.complete_model(first.upload, at(51)).await.unwrap(), "once");
    assert!(!records.record_model_bytes(first.upload, 1, at(2000)).await.unwrap());
    assert!(!records.remove_model_upload(first.upload).await.unwrap(), "it is no upload any more");
    let state = ModelState::Ready { completed_at: at(50) };
    let whole = ModelRecord { received_bytes: 100, state, ..first };
    assert_eq!(records.model(&lab, digest(1)).await.unwrap(), Some(whole.clone()));

    let second = announced(records, model(2, "lab")).await;
    assert_eq!(records.models(&lab, 10, 0).await.unwrap(), (vec![second.clone(), whole.clone()], 2));
    assert_eq!(records.models(&lab, 1, 1).await.unwrap(), (vec![whole.clone()], 2));
    assert!(records.remove_model_upload(second.upload).await.unwrap());
    assert_eq!(records.remove_model(&lab, digest(2)).await.unwrap(), ModelRemoval::NotFound);
    assert_eq!(records.remove_model(&lab, digest(1)).await.unwrap(), ModelRemoval::Done(whole));
    assert_eq!(records.models(&lab, 10, 0).await.unwrap(), (vec![], 0));
    assert_eq!(records.models(&other, 10, 0).await.unwrap().1, 1, "that of another account stays");
}

pub(super) async fn count_against_a_quota_from_the_announcement(records: &dyn Records) {
    let quota = ModelQuota { models: 2, bytes: 250 };
    let announce = async |number, name: &str, size_bytes| {
        records.announce_model(NewModel { size_bytes, ..model(number, name) }, quota).await
    };
    let refused = |result| match result {
        Err(StoreError::CapExceeded(CapExceeded { cap, maximum, current, .. })) => (cap, maximum, current),
        other => panic!("{other:?}"),
    };
    announce(1, "lab", 200).await.unwrap();
    assert_eq!(refused(announce(2, "lab", 51).await), (Cap::ModelBytes, 250, 200));
    announce(2, "lab", 50).await.unwrap();
    announce(2, "lab", 50).await.unwrap();
    assert_eq!(refused(announce(3, "lab", 0).await), (Cap::Models, 2, 2));
    announce(3, "other", 250).await.unwrap();
    let first = records.model(&account("lab"), digest(1)).await.unwrap().unwrap();
    assert!(records.remove_model_upload(first.upload).await.unwrap());
    announce(3, "lab", 200).await.unwrap();
}

pub(super) async fn are_needed_by_their_jobs(records: &dyn Records) {
    let (lab, one, two) = (account("lab"), using(1, "lab", &[1, 1, 2]), using(2, "lab", &[1]));
    let id = two.header.job_id;
    let missing = |result| match result {
        Err(StoreError::MissingModel(sha256)) => sha256,
        other => panic!("{other:?}"),
    };
    ready(records, 1, "lab", 5).await;
    announced(records, model(2, "lab")).await;
    ready(records, 3, "other", 5).await;
    assert_eq!(missing(records.create_job(one.clone()).await), digest(2), "it is not complete");
    assert_eq!(missing(records.create_job(using(1, "lab", &[3])).await), digest(3), "it is another account's");
    assert_eq!(records.job(None, one.header.job_id).await.unwrap(), None, "nothing was changed");
    records.create_job(two).await.unwrap();
    assert_eq!(records.remove_model(&lab, digest(1)).await.unwrap(), ModelRemoval::InUse(vec![id]));
    records.cancel_job(None, id, at(20)).await.unwrap();
    assert!(matches!(records.remove_model(&lab, digest(1)).await.unwrap(), ModelRemoval::Done(_)));
    assert_eq!(missing(records.create_job(using(3, "lab", &[1])).await), digest(1), "it was removed");
}

pub(super) async fn expire(records: &dyn Records) {
    let late = announced(records, NewModel { expires_at: at(30), ..model(1, "lab") }).await;
    let early = announced(records, NewModel { expires_at: at(20), ..model(2, "lab") }).await;
    ready(records, 3, "lab", 5).await;
    assert_eq!(records.expired_model_uploads(at(19), 10).await.unwrap(), []);
    assert_eq!(records.expired_model_uploads(at(30), 10).await.unwrap(), [early.clone(), late]);
    assert_eq!(records.expired_model_uploads(at(30), 1).await.unwrap().len(), 1);
    assert!(records.record_model_bytes(early.upload, 1, at(40)).await.unwrap());
    assert_eq!(records.expired_model_uploads(at(30), 10).await.unwrap().len(), 1, "what continues does not expire");
}

pub(super) async fn go_when_they_are_not_used(records: &dyn Records) {
    let unused = async |before| {
        let found = records.unused_models(at(before), 10).await.unwrap();
        found.into_iter().map(|record| record.sha256).collect::<Vec<_>>()
    };
    ready(records, 1, "lab", 5).await;
    ready(records, 2, "lab", 10).await;
    announced(records, model(3, "lab")).await;
    ready(records, 1, "other", 20).await;
    assert_eq!(unused(11).await, [digest(1), digest(2)]);
    let running = using(1, "lab", &[1]);
    let id = running.header.job_id;
    records.create_job(running).await.unwrap();
    assert_eq!(unused(11).await, [digest(2)], "a job needs the other");
    records.cancel_job(None, id, at(15)).await.unwrap();
    assert_eq!(unused(11).await, [digest(2)], "it was used later");
    assert_eq!(unused(16).await, [digest(1), digest(2)]);
    assert_eq!(unused(21).await.len(), 3);
}
