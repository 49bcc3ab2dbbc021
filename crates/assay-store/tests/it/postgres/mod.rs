//! The records on a PostgreSQL server: opening them, and what happens when the server, a connection or a caller fails.

mod faults;
mod full;
mod hints;
mod import;
mod locks;
mod opening;
mod site;

use std::path::Path;
use std::sync::OnceLock;

use assay_store::{PostgresOptions, PostgresRecords};
use assay_testkit::Postgres;
use jiff::SignedDuration;
use tokio_postgres::{Client, NoTls};

/// The lease of all tests.
const LEASE: SignedDuration = SignedDuration::from_secs(10);

/// Returns a data folder for all tests: nothing is stored there.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

/// Opens the records at an address.
async fn open(url: &str) -> PostgresRecords {
    PostgresRecords::open(&PostgresOptions::new(url), folder()).await.unwrap()
}

/// Opens records in a new database.
async fn open_new() -> (String, PostgresRecords) {
    let url = Postgres::shared().database();
    let records = open(&url).await;
    (url, records)
}

/// Connects as another program would.
async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
