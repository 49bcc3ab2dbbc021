//! Accesses to what belongs to other accounts.

use assay_store::{AccessFilter, AccessRecord, Records};

use super::fixtures::{at, key};

fn access(second: i64, owner: &str, action: &str, target: &str) -> AccessRecord {
    AccessRecord {
        at: at(second),
        key: key("k1", "reviewers").id,
        account: "reviewers".parse().unwrap(),
        owner: owner.parse().unwrap(),
        action: action.to_owned(),
        target: target.to_owned(),
    }
}

fn all() -> AccessFilter {
    AccessFilter { limit: 100, ..AccessFilter::default() }
}

pub(super) async fn come_back_newest_first(records: &dyn Records) {
    let first = access(0, "lab", "read a job", "a");
    let second = access(61, "other", "read a job", "b");
    let third = access(122, "lab", "erased a job", "a");
    records.record_accesses(vec![first.clone(), second.clone()]).await.unwrap();
    records.record_accesses(vec![third.clone()]).await.unwrap();
    records.record_accesses(Vec::new()).await.unwrap();
    assert_eq!(records.accesses(&all()).await.unwrap(), [third.clone(), second.clone(), first.clone()]);
    let of_lab = AccessFilter { owner: Some("lab".parse().unwrap()), ..all() };
    assert_eq!(records.accesses(&of_lab).await.unwrap(), [third.clone(), first.clone()]);
    let by_lab = AccessFilter { account: Some("lab".parse().unwrap()), ..all() };
    assert_eq!(records.accesses(&by_lab).await.unwrap(), []);
    let page = AccessFilter { offset: 1, limit: 1, ..all() };
    assert_eq!(records.accesses(&page).await.unwrap(), [second]);
    assert_eq!(records.forget_accesses(at(122), 1).await.unwrap(), 1);
    assert_eq!(records.forget_accesses(at(122), 100).await.unwrap(), 1);
    assert_eq!(records.accesses(&all()).await.unwrap(), [third]);
}

pub(super) async fn are_recorded_once_a_minute(records: &dyn Records) {
    let start = at(0).as_second().rem_euclid(60);
    let in_minute = |second: i64| 60 - start + second;
    for second in [0, 1, 59, 60] {
        records.record_accesses(vec![access(in_minute(second), "lab", "read a job", "a")]).await.unwrap();
    }
    records.record_accesses(vec![access(in_minute(2), "lab", "read a report", "a")]).await.unwrap();
    let found: Vec<_> = records.accesses(&all()).await.unwrap().into_iter().map(|access| access.at).collect();
    assert_eq!(found, [60, 2, 0].map(|second| at(in_minute(second))));
}
