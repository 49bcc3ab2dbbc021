//! Sessions of browsers.

use assay_store::{MAX_SESSIONS_OF_KEY, Records, SessionRecord};

use super::fixtures::{at, key};

fn session(number: u32, start: i64) -> SessionRecord {
    let mut hash = [0; 32];
    hash[..4].copy_from_slice(&number.to_be_bytes());
    SessionRecord { hash, key: key("k1", "lab").id, created_at: at(start), expires_at: at(start + 1000) }
}

pub(super) async fn come_back_as_they_were(records: &dyn Records) {
    records.create_key(key("k1", "lab")).await.unwrap();
    let (first, second) = (session(1, 0), session(2, 1));
    records.create_session(first.clone()).await.unwrap();
    records.create_session(second.clone()).await.unwrap();
    assert_eq!(records.session(&first.hash).await.unwrap(), Some(first.clone()));
    assert!(records.end_session(&first.hash).await.unwrap());
    assert!(!records.end_session(&first.hash).await.unwrap());
    assert_eq!(records.session(&first.hash).await.unwrap(), None);
    assert_eq!(records.session(&second.hash).await.unwrap(), Some(second), "one ends alone");
}

pub(super) async fn are_bounded(records: &dyn Records) {
    records.create_key(key("k1", "lab")).await.unwrap();
    for number in 0..=MAX_SESSIONS_OF_KEY {
        records.create_session(session(number, i64::from(number))).await.unwrap();
    }
    assert_eq!(records.session(&session(0, 0).hash).await.unwrap(), None, "the oldest went");
    assert!(records.session(&session(1, 1).hash).await.unwrap().is_some());
    records.create_session(session(1_000, 1_050)).await.unwrap();
    assert_eq!(records.session(&session(50, 50).hash).await.unwrap(), None, "it has expired");
    assert!(records.session(&session(51, 51).hash).await.unwrap().is_some());
}
