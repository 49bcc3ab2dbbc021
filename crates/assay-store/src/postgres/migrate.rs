//! Schema migrations. Each `.sql` file of `migrations/` is one step, applied once, under a lock that all processes
//! share.
//!
//! Two versions of assay run side by side during an upgrade, so a change is made in two releases: the first *expands*
//! the schema (new tables, columns with defaults, functions under new names) and serves the version before; a later
//! one *contracts* it. Each step names the oldest schema whose programs it still serves; a program refuses a database
//! that no longer serves it.

use assay_model::Sha256Digest;
use tokio_postgres::error::SqlState;

use super::failure::PgFailure;
use super::open_error::PostgresOpenError;
use super::row::{all, change, number, text, value};
use super::session::PgSession;
use crate::{DatabaseProblem, StoreError};

/// A step. A released one is never edited.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaStep {
    sql: &'static str,
    /// The number of the newest step that the oldest programs know which can work with the schema after this one.
    serves: u32,
}

/// All steps, oldest first.
pub(super) const STEPS: &[SchemaStep] = &[
    SchemaStep { sql: include_str!("migrations/0001_initial.sql"), serves: 1 },
    SchemaStep { sql: include_str!("migrations/0002_events.sql"), serves: 2 },
    SchemaStep { sql: include_str!("migrations/0003_quotas.sql"), serves: 3 },
    SchemaStep { sql: include_str!("migrations/0004_results.sql"), serves: 4 },
    SchemaStep { sql: include_str!("migrations/0005_site.sql"), serves: 4 },
    SchemaStep { sql: include_str!("migrations/0006_labels.sql"), serves: 4 },
    SchemaStep { sql: include_str!("migrations/0007_worker_conduct.sql"), serves: 4 },
    SchemaStep { sql: include_str!("migrations/0008_connection_tokens.sql"), serves: 4 },
    SchemaStep { sql: include_str!("migrations/0009_accesses.sql"), serves: 4 },
];

/// Key of the advisory lock under which the schema changes: "assay" in ASCII.
const LOCK: i64 = 0x61_73_73_61_79;

/// A migration failed, or the schema is not one that this version can use.
#[derive(Debug)]
pub(super) enum SchemaProblem {
    /// The schema is newer and no longer serves this version.
    Newer {
        found: u32,
        known: u32,
    },
    /// A step in the database has another content.
    Other {
        number: u32,
    },
    Failed(PgFailure),
}

impl From<PgFailure> for SchemaProblem {
    fn from(failure: PgFailure) -> Self {
        Self::Failed(failure)
    }
}

impl SchemaProblem {
    pub(super) fn at(self, server: String) -> PostgresOpenError {
        match self {
            Self::Newer { found, known } => PostgresOpenError::NewerSchema { server, found, known },
            Self::Other { number } => PostgresOpenError::OtherMigration { server, number },
            Self::Failed(PgFailure::Statement(error)) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                PostgresOpenError::Permission { server, source: std::sync::Arc::new(error) }
            }
            Self::Failed(PgFailure::Statement(error)) if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => {
                PostgresOpenError::ReadOnly { server }
            }
            Self::Failed(failure) => match failure.while_doing("migrating the schema") {
                StoreError::Database { problem: DatabaseProblem::DiskFull, source, .. } => {
                    PostgresOpenError::DiskFull { server, source }
                }
                source => PostgresOpenError::Store { server, source },
            },
        }
    }
}

/// Migrates the schema to the newest of `steps`, in one transaction.
pub(super) async fn migrate(session: &PgSession, steps: &[SchemaStep]) -> Result<(), SchemaProblem> {
    let before = applied(session, steps).await?;
    if before == Some(newest(steps)) {
        return Ok(());
    }
    session.begin("BEGIN; SET LOCAL statement_timeout = 0").await?;
    match apply(session, steps).await {
        Ok(()) => Ok(session.commit().await?),
        Err(problem) => {
            session.roll_back().await;
            Err(problem)
        }
    }
}

/// Checks that this version can use the schema, if there is one.
pub(super) async fn check(session: &PgSession, steps: &[SchemaStep]) -> Result<(), SchemaProblem> {
    applied(session, steps).await.map(drop)
}

async fn apply(session: &PgSession, steps: &[SchemaStep]) -> Result<(), SchemaProblem> {
    change(session, "SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    // Another process may have migrated meanwhile.
    let found = applied(session, steps).await?;
    if found.is_none() {
        let sql =
            "CREATE TABLE assay_schema (number bigint PRIMARY KEY, checksum text NOT NULL, serves bigint NOT NULL)";
        session.batch(sql).await?;
    }
    let found = found.unwrap_or(0);
    for (number, step) in (1_u32..).zip(steps).filter(|(number, _)| *number > found) {
        session.batch(step.sql).await?;
        let sql = "INSERT INTO assay_schema (number, checksum, serves) VALUES ($1, $2, $3)";
        let checksum = Sha256Digest::of(step.sql).to_string();
        change(session, sql, &[&i64::from(number), &checksum, &i64::from(step.serves)]).await?;
    }
    if found < newest(steps) {
        tracing::info!(before = found, schema = newest(steps), "the schema of the database was migrated");
    }
    Ok(())
}

/// Returns the number of the newest step in the database, after checking that this version can use it; `None` before
/// the first.
async fn applied(session: &PgSession, steps: &[SchemaStep]) -> Result<Option<u32>, SchemaProblem> {
    if !value::<bool>(session, "SELECT to_regclass('assay_schema') IS NOT NULL", &[]).await? {
        return Ok(None);
    }
    let sql = "SELECT checksum, number, serves FROM assay_schema ORDER BY number";
    let rows = all(session, sql, &[], |row| {
        Ok((number::<u32>(row, "number")?, text(row, "checksum")?.to_owned(), number::<u32>(row, "serves")?))
    })
    .await?;
    let (known, mut found) = (newest(steps), 0);
    for (number, checksum, serves) in rows {
        found = number;
        if serves > known {
            return Err(SchemaProblem::Newer { found, known });
        }
        let own = usize::try_from(number).ok().and_then(|number| steps.get(number.checked_sub(1)?));
        if own.is_some_and(|own| Sha256Digest::of(own.sql).to_string() != checksum) {
            return Err(SchemaProblem::Other { number });
        }
    }
    Ok(Some(found))
}

/// Returns the number of the newest step.
fn newest(steps: &[SchemaStep]) -> u32 {
    u32::try_from(steps.len()).unwrap_or(u32::MAX)
}
