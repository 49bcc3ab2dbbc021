//! Imports of the records of a data folder.

use std::fmt::Debug;
use std::path::Path;

use assay_store::{
    EventPosition, JobFilter, JobRecords, KeyRecords, PostgresOptions, PostgresRecords, QuotaRecords, Records,
    RecordsCopy, RecordsImport, RecordsImportError, SqliteRecords,
};
use assay_store_testing::{at, job, key};
use assay_testkit::Postgres;
use tokio::sync::oneshot;

use super::{connect, folder};

/// Number of keys of a source whose import takes more than one report of progress.
const MANY: u32 = 1000;

fn copy_of(data: &Path) -> (tempfile::TempDir, RecordsCopy) {
    let to = tempfile::tempdir().unwrap();
    let copy = RecordsCopy::of_stopped_server(data, to.path()).unwrap();
    (to, copy)
}

async fn import(url: &str, from: &RecordsCopy) -> Result<u64, RecordsImportError> {
    let import = RecordsImport::begin(&PostgresOptions::new(url), from).await?;
    let (rows, mut told) = (import.rows()?, 0);
    let tables = import.run(&mut |rows| told += rows).await?;
    let copied: u64 = tables.iter().map(|table| table.rows).sum();
    assert_eq!((copied, told), (rows, rows), "{tables:?}");
    Ok(rows)
}

/// Returns everything that the repositories tell about jobs, keys, seasons and accounts.
async fn described(records: &dyn Records) -> Vec<String> {
    let show = |value: &dyn Debug| format!("{value:?}");
    let (jobs, total) = records.jobs(&JobFilter { limit: 100, ..JobFilter::default() }).await.unwrap();
    let mut found = vec![show(&total), show(&records.keys(None).await.unwrap())];
    for season in records.seasons(None).await.unwrap() {
        found.push(show(&(&season, records.season_secrets(&season.scenario, season.number).await.unwrap())));
    }
    for job in jobs {
        let id = job.header.job_id;
        found.push(show(&records.episodes(id, 0, 1000).await.unwrap()));
        let start = EventPosition { job_id: id, after: 0 };
        let events = records.events_of(&[start], 1000).await.unwrap();
        found.extend(events.iter().map(|event| show(&(event.number, event.at, &event.status, event.episodes_done))));
        found.push(show(&records.account_usage(&job.account, at(0)).await.unwrap()));
        found.push(show(&job));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_state_of_the_conformance_suite_is_imported() {
    let folders = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    let place = |number: u32| folders.path().join(number.to_string());
    Box::pin(assay_store_testing::records(async || {
        number.set(number.get() + 1);
        SqliteRecords::open(&place(number.get()), "a test").unwrap()
    }))
    .await;
    let mut rows = 0;
    for number in 1..=number.get() {
        let (url, (to, copy)) = (Postgres::shared().database(), copy_of(&place(number)));
        rows += import(&url, &copy).await.unwrap_or_else(|error| panic!("the state after case {number}: {error:?}"));
        let (source, target) = (SqliteRecords::open_beside(to.path(), "a test").unwrap(), super::open(&url).await);
        assert_eq!(described(&source).await, described(&target).await, "the state after case {number}");
    }
    assert!(rows > 1000, "{rows}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_complete_or_has_not_happened() {
    let data = tempfile::tempdir().unwrap();
    let records = SqliteRecords::open(data.path(), "a test").unwrap();
    records.create_job(job(1, "lab", 4, 2)).await.unwrap();
    for number in 0..MANY {
        records.create_key(key(&format!("{number:012}"), "lab")).await.unwrap();
    }
    drop(records);
    let (_to, copy) = copy_of(data.path());
    let url = Postgres::shared().database();
    let options = PostgresOptions::new(url.as_str());

    // It ends in the middle.
    let begun = RecordsImport::begin(&options, &copy).await.unwrap();
    let (reached, mut ends) = oneshot::channel();
    let mut reached = Some(reached);
    let mut progress = |_| {
        let _ = reached.take().map(|reached| reached.send(()));
    };
    tokio::select! {
        biased;
        _ = &mut ends => {}
        done = begun.run(&mut progress) => panic!("it has ended: {done:?}"),
    }
    let other = connect(&url).await;
    let count = async |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        other.query_one(&sql, &[]).await.unwrap().get::<_, i64>(0)
    };
    assert_eq!(count("keys").await, 0);

    // Once complete, it is recognised; the triggers are on again.
    assert!(import(&url, &copy).await.unwrap() > u64::from(MANY));
    assert_eq!((count("keys").await, count("jobs").await, count("events").await), (i64::from(MANY), 1, 1));
    import(&url, &copy).await.unwrap();
    let records = PostgresRecords::open(&options, folder()).await.unwrap();
    let lab = "lab".parse().unwrap();
    assert_eq!(records.account_usage(&lab, at(0)).await.unwrap().active_jobs, 1);
    records.create_job(job(2, "lab", 4, 2)).await.unwrap();
    assert_eq!(records.account_usage(&lab, at(0)).await.unwrap().active_jobs, 2);
    assert_eq!(count("events").await, 2);

    // Other records are refused, and stay as they are.
    let error = import(&url, &copy).await.unwrap_err();
    assert!(matches!(error, RecordsImportError::NotEmpty { table: "jobs", .. }), "{error:?}");
    assert_eq!((count("keys").await, count("jobs").await), (i64::from(MANY), 2));
}
