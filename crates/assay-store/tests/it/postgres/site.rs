//! Several processes that share the records.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::JobId;
use assay_store::{
    Bulletin, ConnectionTokenRecord, KeyId, PostgresRecords, RequestCounter, SITE_LEASE, Site, SiteRecords,
};
use assay_testkit::{PATIENCE, Postgres};
use futures_util::future::join_all;
use uuid::Uuid;

use crate::postgres::{open, open_new};

/// Returns two processes with records of their own on one database.
async fn two() -> [Arc<PostgresRecords>; 2] {
    let (url, first) = open_new().await;
    [Arc::new(first), Arc::new(open(&url).await)]
}

fn counter(name: &str, window: i64) -> RequestCounter {
    RequestCounter { name: name.to_owned(), window }
}

#[tokio::test]
async fn one_process_leads_until_it_leaves_or_is_silent() {
    let records = two().await;
    assert_eq!(records[0].site_id().await.unwrap(), records[1].site_id().await.unwrap());
    let [a, b, c] = [1, 2, 3].map(Uuid::from_u128);
    let exchange =
        async |number: usize, process| records[number].exchange(process, &format!("of {process}")).await.unwrap();
    let first = exchange(0, a).await;
    assert!(first.leads && first.others.is_empty());
    let second = exchange(1, b).await;
    assert!(!second.leads);
    assert_eq!(second.others, [format!("of {a}")]);
    assert_eq!(exchange(0, a).await.others, [format!("of {b}")]);

    records[0].leave_site(a).await.unwrap();
    let last = Instant::now();
    let after = exchange(1, b).await;
    assert!(after.leads && after.others.is_empty(), "who leaves is not waited for");
    assert!(!exchange(0, c).await.leads);
    // The second is silent from now on.
    let alone = loop {
        let found = exchange(0, c).await;
        if found.leads {
            break found;
        }
        assert!(last.elapsed() < PATIENCE, "a silent process leads");
        tokio::time::sleep(SITE_LEASE / 20).await;
    };
    assert!(last.elapsed() >= SITE_LEASE, "its lease had not ended");
    assert!(alone.others.is_empty());
}

#[tokio::test]
async fn a_token_for_a_connection_is_redeemed_once_at_any_process() {
    let [here, there] = two().await;
    let [job, other] = [1, 2].map(|number| JobId(Uuid::from_u128(number)));
    let key = KeyId::parse("k1").unwrap();
    let token = |hash, session| ConnectionTokenRecord { hash: [hash; 32], key: key.clone(), session };
    let put = async |job, token: &ConnectionTokenRecord, milliseconds| {
        here.put_connection_token(job, token, Duration::from_millis(milliseconds), 1).await.unwrap()
    };
    let (first, second) = (token(1, None), token(2, Some([7; 32])));
    assert!(put(job, &first, 60_000).await);
    assert!(!put(other, &first, 60_000).await, "more than the limit");
    assert!(put(job, &second, 60_000).await, "a new one replaces the old one");
    assert_eq!(there.connection_token(job).await.unwrap(), Some(second.clone()));
    assert!(!there.redeem_connection_token(job, &first.hash).await.unwrap(), "a replaced one");
    assert!(!there.redeem_connection_token(other, &second.hash).await.unwrap(), "of another job");
    let redeemed = [&here, &there].map(|records| records.redeem_connection_token(job, &second.hash));
    let redeemed: Vec<bool> = join_all(redeemed).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(redeemed.iter().filter(|redeemed| **redeemed).count(), 1, "two processes at once: {redeemed:?}");
    // An expired one neither counts nor is valid.
    assert!(put(job, &first, 1).await);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(there.connection_token(job).await.unwrap(), None);
    assert!(!there.redeem_connection_token(job, &first.hash).await.unwrap());
    assert!(put(other, &second, 60_000).await);
}

#[tokio::test]
async fn a_process_that_cannot_reach_the_records_stops_leading() {
    let server = Postgres::start(&[]);
    let records = Arc::new(open(&server.database()).await);
    let site = Site::shared(records, Uuid::from_u128(1));
    assert!(!site.leads(), "not before the first meeting");
    site.exchange(&Bulletin::default()).await.unwrap();
    assert!(site.leads());
    server.stop_immediately();
    site.exchange(&Bulletin::default()).await.unwrap_err();
    tokio::time::sleep(SITE_LEASE / 2).await;
    assert!(!site.leads(), "it stops before another may lead");
    server.start_again();
    site.exchange(&Bulletin::default()).await.unwrap();
    assert!(site.leads(), "a crash of the server emptied its table");
    site.leave().await.unwrap();
    assert!(!site.leads());
}

#[tokio::test]
async fn processes_count_requests_together() {
    let records = two().await;
    let requests = (0..40).map(|number| {
        let records = Arc::clone(&records[number % 2]);
        tokio::spawn(async move { records.count_request(&counter("verify k1", 7), 25).await.unwrap() })
    });
    let mut counts: Vec<_> = join_all(requests).await.into_iter().filter_map(Result::unwrap).collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=25).collect::<Vec<u32>>(), "each count is given once, up to the limit");
    assert_eq!(records[0].count_request(&counter("verify k1", 8), 1).await.unwrap(), Some(1), "a window of its own");
    assert_eq!(records[0].count_request(&counter("verify k2", 7), 0).await.unwrap(), None);

    // Counts of reads are exchanged, in any order and at the same time.
    let told = [(counter("get k1", 7), 3), (counter("get k2", 7), 5)];
    let turned = [told[1].clone(), told[0].clone()];
    let exchanges = (0..20).map(|number| {
        let (records, told) =
            (Arc::clone(&records[number % 2]), if number % 3 == 0 { turned.clone() } else { told.clone() });
        tokio::spawn(async move { records.add_requests(&told).await.unwrap() })
    });
    join_all(exchanges).await.into_iter().for_each(|done| drop(done.unwrap()));
    let none = told.map(|(counter, _)| (counter, 0));
    assert_eq!(records[1].add_requests(&none).await.unwrap(), [60, 100]);
    assert_eq!(records[1].add_requests(&[(counter("get k1", 8), 1)]).await.unwrap(), [1]);
    assert_eq!(records[0].add_requests(&none).await.unwrap(), [0, 0], "past windows are forgotten");
}
