//! Schema migrations. Each `.sql` file of `migrations/` is one step; `PRAGMA user_version` counts the completed steps.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use super::failure::database;
use super::open_error::OpenError;

/// All steps, oldest first; a released step is never edited.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_initial.sql"),
    include_str!("migrations/0002_reviews.sql"),
    include_str!("migrations/0003_servers.sql"),
    include_str!("migrations/0004_events.sql"),
    include_str!("migrations/0005_answers.sql"),
    include_str!("migrations/0006_arena.sql"),
    include_str!("migrations/0007_removals.sql"),
    include_str!("migrations/0008_sessions.sql"),
    include_str!("migrations/0009_paces.sql"),
    include_str!("migrations/0010_community.sql"),
    include_str!("migrations/0011_quotas.sql"),
    include_str!("migrations/0012_publishing_failures.sql"),
    include_str!("migrations/0013_totals.sql"),
    include_str!("migrations/0014_signed.sql"),
    include_str!("migrations/0015_attempts.sql"),
    include_str!("migrations/0016_renders.sql"),
    include_str!("migrations/0018_open_seasons.sql"),
    include_str!("migrations/0019_installed_versions.sql"),
    include_str!("migrations/0020_webhooks.sql"),
    include_str!("migrations/0021_models.sql"),
    include_str!("migrations/0022_open_jobs.sql"),
    include_str!("migrations/0023_workers.sql"),
    include_str!("migrations/0024_labels.sql"),
    include_str!("migrations/0025_worker_conduct.sql"),
    include_str!("migrations/0026_accesses.sql"),
];

/// Returns the newest schema version.
pub(super) fn newest(migrations: &[&str]) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

pub(super) fn version(db: &Connection) -> Result<u32, OpenError> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|e| database("reading the schema version", e).into())
}

/// Rejects a database written by a newer version.
pub(super) fn refuse_newer(file: &Path, found: u32, migrations: &[&str]) -> Result<(), OpenError> {
    let known = newest(migrations);
    if found > known { Err(OpenError::NewerSchema { file: file.to_owned(), found, known }) } else { Ok(()) }
}

/// Migrates `db` (the open `file`) to the newest schema. An existing database is copied first to
/// `FILE.before-v<new version>`.
pub(super) fn migrate(db: &mut Connection, file: &Path, migrations: &[&str]) -> Result<(), OpenError> {
    let found = version(db)?;
    refuse_newer(file, found, migrations)?;
    if found == newest(migrations) {
        return Ok(());
    }
    if found > 0 {
        copy_before(db, file, newest(migrations))?;
    }
    for (done, sql) in (1_u32..).zip(migrations).filter(|(number, _)| *number > found) {
        let mut step = || -> rusqlite::Result<()> {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "user_version", done)?;
            transaction.commit()
        };
        step().map_err(|e| database("migrating the schema", e))?;
    }
    match found {
        0 => tracing::info!(schema = newest(migrations), "database created"),
        _ => {
            tracing::info!(before = found, schema = newest(migrations), "database migrated")
        }
    }
    Ok(())
}

fn copy_before(db: &Connection, file: &Path, new: u32) -> Result<(), OpenError> {
    let named = |suffix: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".before-v{new}{suffix}"));
        PathBuf::from(name)
    };
    let (copy, partial) = (named(""), named(".partial"));
    let io = |e| OpenError::file("write the copy", &partial, e);
    match std::fs::remove_file(&partial) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(io(e)),
        _ => {}
    }
    let target = partial.to_string_lossy();
    db.execute("VACUUM INTO ?1", [&target]).map_err(|e| database("copying the database before its migration", e))?;
    File::open(&partial).and_then(|f| f.sync_all()).map_err(io)?;
    std::fs::rename(&partial, &copy).map_err(io)?;
    if let Some(folder) = file.parent() {
        File::open(folder).and_then(|f| f.sync_all()).map_err(io)?;
    }
    tracing::info!(copy = %copy.display(), "database copied before migration");
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const V1: &str = "CREATE TABLE t (x INTEGER) STRICT; INSERT INTO t VALUES (7);";
    const V2: &str = "ALTER TABLE t ADD COLUMN y INTEGER; UPDATE t SET y = x + 1;";

    #[test]
    fn an_existing_database_is_copied_then_migrated() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assay.db");
        let mut db = Connection::open(&file).unwrap();
        migrate(&mut db, &file, &[V1]).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a new database needs no copy");

        migrate(&mut db, &file, &[V1, V2]).unwrap();
        assert_eq!(version(&db).unwrap(), 2);
        assert_eq!(db.query_row("SELECT y FROM t", [], |r| r.get::<_, i64>(0)), Ok(8));
        let old = Connection::open(folder.path().join("assay.db.before-v2")).unwrap();
        assert_eq!(version(&old).unwrap(), 1);
        assert_eq!(old.query_row("SELECT x FROM t", [], |r| r.get::<_, i64>(0)), Ok(7));
    }

    #[test]
    fn a_failed_step_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assay.db");
        let mut db = Connection::open(&file).unwrap();
        migrate(&mut db, &file, &[V1]).unwrap();
        let broken = "INSERT INTO t VALUES (8); SELECT nonsense;";
        migrate(&mut db, &file, &[V1, broken]).unwrap_err();
        assert_eq!(version(&db).unwrap(), 1);
        assert_eq!(db.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0)), Ok(1));
        migrate(&mut db, &file, &[V1, V2]).unwrap();
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assay.db");
        let mut db = Connection::open(&file).unwrap();
        migrate(&mut db, &file, &[V1, V2]).unwrap();
        let error = migrate(&mut db, &file, &[V1]).unwrap_err();
        assert!(matches!(error, OpenError::NewerSchema { found: 2, known: 1, .. }), "{error}");
    }

    #[test]
    fn jobs_of_an_older_version_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assay.db");
        let mut db = Connection::open(&file).unwrap();
        migrate(&mut db, &file, &MIGRATIONS[..12]).unwrap();
        let insert = "INSERT INTO jobs (job_id, account, scenario, status, header, num_episodes, created_at, kind)
                      VALUES (?1, ?2, 'reach', 'QUEUED', '{}', 1, 0, ?3)";
        for (job, account, kind) in
            [(1, "lab", "verify"), (2, "lab", "verify"), (3, "lab", "submission"), (4, "other", "rerun")]
        {
            db.execute(insert, (format!("job {job}"), account, kind)).unwrap();
        }
        migrate(&mut db, &file, MIGRATIONS).unwrap();
        db.execute(insert, ("job 5", "lab", "submission")).unwrap();
        let sql = "SELECT verifications, submissions, active_jobs FROM account_use WHERE account = ?1";
        let of =
            |account: &str| db.query_row(sql, [account], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        assert_eq!((of("lab"), of("other")), ((2, 2, 4), (0, 0, 1)));
    }
}
