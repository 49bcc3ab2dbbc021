//! Keys.

use std::sync::Arc;

use assay_store::{KeyId, KeyRecord, Records, RevokeOutcome, StoreError};

use super::fixtures::{at, key};

pub(super) async fn come_back_as_they_were(records: &dyn Records) {
    assert!(!records.has_key_ever_existed().await.unwrap());
    let (first, second) = (key("one", "lab"), KeyRecord { expires_at: None, ..key("two", "other") });
    records.create_key(first.clone()).await.unwrap();
    records.create_key(second.clone()).await.unwrap();
    assert_eq!(records.key(&first.id).await.unwrap(), Some(Arc::new(first.clone())));
    assert_eq!(records.key(&KeyId::parse("three").unwrap()).await.unwrap(), None);
    assert_eq!(records.keys(None).await.unwrap(), [first, second.clone()]);
    assert_eq!(records.keys(Some(&second.account)).await.unwrap(), [second]);
}

pub(super) async fn are_unique(records: &dyn Records) {
    records.create_key(key("one", "lab")).await.unwrap();
    let again = records.create_key(key("one", "thief")).await;
    assert!(matches!(again, Err(StoreError::Exists { what: "key", .. })), "{again:?}");
    assert_eq!(records.keys(None).await.unwrap(), [key("one", "lab")]);
}

pub(super) async fn end_by_revocation(records: &dyn Records) {
    let one = key("one", "lab");
    records.create_key(one.clone()).await.unwrap();
    records.touch_key(&one.id, at(5)).await.unwrap();
    records.touch_key(&one.id, at(3)).await.unwrap();
    assert!(records.key(&one.id).await.unwrap().unwrap().is_valid(at(9)));
    assert!(records.revoke_key(&one.id, at(7)).await.unwrap());
    assert!(!records.revoke_key(&one.id, at(8)).await.unwrap(), "revoked before");
    assert!(!records.revoke_key(&KeyId::parse("two").unwrap(), at(8)).await.unwrap());
    let found = records.key(&one.id).await.unwrap().unwrap();
    assert_eq!((found.last_used_at, found.revoked_at), (Some(at(5)), Some(at(7))));
    assert!(!found.is_valid(at(9)));
    assert!(one.is_valid(at(999)) && !one.is_valid(at(1000)), "expiry is exclusive");
}

pub(super) async fn the_last_admin_stays(records: &dyn Records) {
    let admin = |id: &str| KeyRecord { scopes: "admin".parse().unwrap(), expires_at: None, ..key(id, "lab") };
    for key in [admin("one"), admin("two"), KeyRecord { expires_at: Some(at(5)), ..admin("old") }] {
        records.create_key(key).await.unwrap();
    }
    let revoke =
        async |id: &str| records.revoke_key_unless_last_admin(&KeyId::parse(id).unwrap(), at(7)).await.unwrap();
    assert_eq!(revoke("one").await, RevokeOutcome::Done);
    assert_eq!(revoke("one").await, RevokeOutcome::NothingToDo);
    assert_eq!(revoke("two").await, RevokeOutcome::LastAdmin, "an expired key does not count as an administrator's");
    assert!(records.key(&KeyId::parse("two").unwrap()).await.unwrap().unwrap().is_valid(at(8)));
    records.create_key(key("plain", "lab")).await.unwrap();
    assert_eq!(revoke("plain").await, RevokeOutcome::Done);
}

pub(super) async fn are_rotated_in_one_step(records: &dyn Records) {
    let (one, two, three) = (key("one", "lab"), key("two", "lab"), key("three", "lab"));
    records.create_key(one.clone()).await.unwrap();
    let taken = records.rotate_key(&one.id, key("one", "lab"), at(5)).await;
    assert!(matches!(taken, Err(StoreError::Exists { what: "key", .. })), "{taken:?}");
    assert!(records.key(&one.id).await.unwrap().unwrap().is_valid(at(6)), "without a new key the old one stays");
    assert!(records.rotate_key(&one.id, two.clone(), at(7)).await.unwrap());
    assert_eq!(records.key(&one.id).await.unwrap().unwrap().revoked_at, Some(at(7)));
    assert_eq!(records.key(&two.id).await.unwrap(), Some(Arc::new(two)));
    assert!(!records.rotate_key(&one.id, three.clone(), at(8)).await.unwrap(), "it was rotated before");
    assert_eq!(records.key(&three.id).await.unwrap(), None);
}

pub(super) async fn first_key_is_first_once(records: &dyn Records) {
    assert!(records.create_first_key(key("one", "lab")).await.unwrap());
    assert!(!records.create_first_key(key("two", "lab")).await.unwrap());
    records.revoke_key(&KeyId::parse("one").unwrap(), at(1)).await.unwrap();
    assert!(!records.create_first_key(key("two", "lab")).await.unwrap(), "a revoked key has existed");
    assert!(records.has_key_ever_existed().await.unwrap());
}
