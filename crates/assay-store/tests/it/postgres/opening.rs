//! Opening: each error names the setting to change.

use assay_store::{
    JobRecords, Lease, PostgresOpenError, PostgresOptions, PostgresRecords, RecoveryRecords, ShardRecords, ShardRequest,
};
use assay_store_testing::{at, job};
use assay_testkit::Postgres;
use futures_util::future::join_all;

use super::{LEASE, folder, open, open_new};

async fn refused(options: PostgresOptions) -> PostgresOpenError {
    let error = PostgresRecords::open(&options, folder()).await.unwrap_err();
    let text = assay_model::ErrorChain(&error).to_string();
    assert!(text.contains("store.url"), "{text}");
    assert!(!text.contains("secret") && !text.contains(Postgres::PASSWORD), "a password is shown: {text}");
    error
}

async fn refused_url(url: &str) -> PostgresOpenError {
    refused(PostgresOptions::new(url)).await
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = refused_url(&format!("postgres://lab:secret@127.0.0.1:{port}/assay")).await;
    assert!(
        matches!(&error, PostgresOpenError::Unreachable { server, .. } if server.contains("lab@127.0.0.1")),
        "{error}"
    );
    let error = refused_url("postgres://lab@nonexistent.invalid/assay").await;
    assert!(matches!(error, PostgresOpenError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_wrong_password_is_told_from_a_missing_permission() {
    let url = Postgres::shared().database();
    let locked = url.replace("assay@", "locked@");
    let with = |password: &str| PostgresOptions {
        password: Some(assay_model::Secret::new(password)),
        ..PostgresOptions::new(locked.clone())
    };
    for wrong in [PostgresOptions::new(locked.clone()), with("a secret guess")] {
        let error = refused(wrong).await;
        assert!(matches!(error, PostgresOpenError::Refused { .. }), "{error:?}");
    }
    let error = refused(with(Postgres::PASSWORD)).await;
    assert!(matches!(error, PostgresOpenError::Permission { .. }), "{error:?}");
    let unknown = refused_url(&url.replace("assay@", "nobody@")).await;
    assert!(matches!(unknown, PostgresOpenError::Refused { .. }), "{unknown:?}");
}

#[tokio::test]
async fn an_unsuitable_database_is_refused() {
    let server = Postgres::shared();
    let error = refused_url(&server.url("absent")).await;
    assert!(matches!(error, PostgresOpenError::NoDatabase { .. }), "{error:?}");

    server.sql("postgres", "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'");
    let error = refused_url(&server.url("latin")).await;
    assert!(matches!(&error, PostgresOpenError::Encoding { encoding, .. } if encoding == "LATIN1"), "{error:?}");

    let (url, records) = open_new().await;
    drop(records);
    let name = url.rsplit('/').next().unwrap();
    server.sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    let error = refused_url(&url).await;
    assert!(matches!(error, PostgresOpenError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_without_tls_is_refused_if_it_is_required() {
    let error = refused_url(&format!("{}?sslmode=require", Postgres::shared().database())).await;
    assert!(matches!(error, PostgresOpenError::Tls { .. }), "{error:?}");
    let error = refused_url("postgres://lab@127.0.0.1/assay?sslrootcert=/nonexistent.pem").await;
    assert!(matches!(error, PostgresOpenError::RootCertificates { .. }), "{error:?}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_unless_it_serves_this_version() {
    let (url, records) = open_new().await;
    let (server, name) = (Postgres::shared(), url.rsplit('/').next().unwrap());
    drop(records);
    let known = server.sql(name, "SELECT max(number) FROM assay_schema");
    let add = |serves: &str| format!("INSERT INTO assay_schema VALUES ({known} + 1, 'of a newer assay', {serves})");
    server.sql(name, &add(&known));
    let records = open(&url).await;
    assert!(records.create_job(job(1, "lab", 1, 1)).await.is_ok(), "both versions run side by side");
    server.sql(name, "UPDATE assay_schema SET serves = 99 WHERE checksum = 'of a newer assay'");
    let error = refused_url(&url).await;
    assert!(matches!(error, PostgresOpenError::NewerSchema { .. }), "{error:?}");
    server.sql(
        name,
        "DELETE FROM assay_schema WHERE serves = 99; UPDATE assay_schema SET checksum = 'x' WHERE number = 2",
    );
    let error = refused_url(&url).await;
    assert!(matches!(error, PostgresOpenError::OtherMigration { number: 2, .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_processes_may_open_a_new_database_at_once() {
    let url = Postgres::shared().database();
    let opened = join_all((0..6).map(|_| open(&url))).await;
    for (number, records) in (0..).zip(&opened) {
        records.create_job(job(number, "lab", 1, 1)).await.unwrap();
    }
    assert_eq!(opened[0].counts().await.unwrap().queued, 6);
}

#[tokio::test]
async fn opening_leaves_the_leases_of_others_alone() {
    let (url, records) = open_new().await;
    records.create_job(job(1, "lab", 1, 1)).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    let other = open(&url).await;
    assert!(other.reconcile(at(2)).await.unwrap().requeued.is_empty());
    assert_eq!(records.heartbeat(claim.fence, at(3), LEASE).await.unwrap(), Lease::Held);
    drop(records);
    assert!(other.reconcile(at(4)).await.unwrap().requeued.is_empty(), "nor does closing end them");
    assert_eq!(other.reconcile(at(14)).await.unwrap().requeued.len(), 1);
}
