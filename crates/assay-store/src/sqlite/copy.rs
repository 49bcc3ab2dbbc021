//! Copy of the records, made next to a running server, and the list of files that the copied records need.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use assay_model::{AccountId, Artifact, EpisodeResult, JobId, Sha256Digest};
use rusqlite::{Connection, OpenFlags, Row};

use super::connection::{BUSY_TIMEOUT, FILE_NAME};
use super::failure::{SqlResult, database};
use super::migrate::{MIGRATIONS, newest, refuse_newer, version};
use super::open_error::OpenError;
use super::row::{all, json, parsed, value};
use crate::StoreError;

/// The read-only records of a backup.
#[derive(Debug)]
pub struct RecordsCopy(Connection);

/// Numbers of jobs and episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordCounts {
    /// Jobs in any state.
    pub jobs: u64,
    /// Episodes with a result.
    pub episodes: u64,
}

impl RecordsCopy {
    /// Name of the records in a data folder.
    pub const FILE_NAME: &str = FILE_NAME;

    /// Returns the schema version that this assay writes.
    #[must_use]
    pub fn schema() -> u32 {
        newest(MIGRATIONS)
    }

    /// Copies a snapshot of the records of the folder `data` to the new file `to`, readable by its owner only. A server
    /// on the folder continues to read and write. Erased text is not in the copy, since free pages are left out.
    ///
    /// # Errors
    /// There are no records, they have another schema, or the copy cannot be written.
    pub fn create(data: &Path, to: &Path) -> Result<Self, OpenError> {
        let file = data.join(FILE_NAME);
        let source = open(&file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let (found, known) = (version(&source)?, Self::schema());
        refuse_newer(&file, found, MIGRATIONS)?;
        if found < known {
            return Err(OpenError::OlderSchema { file, found, known });
        }
        // SQLite accepts an empty file, but would create one that all users can read.
        let made = File::options().write(true).create_new(true).mode(0o600).open(to);
        made.map_err(|e| OpenError::file("create", to, e))?;
        let copied = source.execute("VACUUM INTO ?1", [&to.to_string_lossy()]);
        copied.map_err(|e| database("copying the records", e))?;
        Ok(Self::open(to)?)
    }

    /// Opens records of this version's schema.
    ///
    /// # Errors
    /// They can't be read.
    pub fn open(file: &Path) -> Result<Self, StoreError> {
        Ok(Self(open(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?))
    }

    /// Checks the database's pages and indexes. Returns a description of the damage, if any.
    ///
    /// # Errors
    /// It can't be read at all.
    pub fn check_integrity(&self) -> Result<Option<String>, StoreError> {
        let found: String = self.query("checking the records", |db| value(db, "PRAGMA quick_check(1)", []))?;
        Ok(Some(found).filter(|found| found != "ok"))
    }

    /// Counts jobs and episodes.
    ///
    /// # Errors
    /// It can't be read.
    pub fn counts(&self) -> Result<RecordCounts, StoreError> {
        self.query("counting the records", |db| {
            let count = |sql| value::<i64>(db, sql, []).map(|count| u64::try_from(count).unwrap_or_default());
            Ok(RecordCounts {
                jobs: count("SELECT count(*) FROM jobs")?,
                episodes: count("SELECT count(*) FROM episodes")?,
            })
        })
    }

    /// Returns the archives that jobs need, relative to the data folder.
    ///
    /// # Errors
    /// They can't be read.
    pub fn policy_paths(&self) -> Result<BTreeSet<String>, StoreError> {
        let sql = "SELECT DISTINCT policy_path FROM jobs WHERE policy_path IS NOT NULL AND policy_removed_at IS NULL";
        let read = |db: &Connection| all(db, sql, [], |row| Ok(row.get(0)?));
        Ok(self.query("listing policies", read)?.into_iter().collect())
    }

    /// Returns the jobs with episodes to run whose policy is a server, and whose credentials are therefore kept.
    ///
    /// # Errors
    /// They can't be read.
    pub fn policy_server_jobs(&self) -> Result<Vec<JobId>, StoreError> {
        let sql = "SELECT job_id FROM jobs WHERE status IN ('QUEUED', 'RUNNING') AND policy_path IS NULL";
        self.query("listing jobs with a policy server", |db| all(db, sql, [], |row| parsed(row, "job_id")))
    }

    /// Returns the complete models of each account.
    ///
    /// # Errors
    /// They can't be read.
    pub fn models(&self) -> Result<Vec<(AccountId, Sha256Digest)>, StoreError> {
        let sql = "SELECT account, sha256 FROM models WHERE completed_at IS NOT NULL ORDER BY account, sha256";
        let read = |row: &Row<'_>| Ok((parsed(row, "account")?, parsed(row, "sha256")?));
        self.query("listing models", |db| all(db, sql, [], read))
    }

    /// Returns the digests of the scenario versions whose files are kept.
    ///
    /// # Errors
    /// They can't be read.
    pub fn scenario_digests(&self) -> Result<BTreeSet<Sha256Digest>, StoreError> {
        let sql = "SELECT digest FROM community_versions UNION SELECT digest FROM installed_versions";
        let read = |db: &Connection| all(db, sql, [], |row| parsed(row, "digest"));
        Ok(self.query("reading digests", read)?.into_iter().collect())
    }

    /// Returns the hashes of each job's evidence that was not removed, including rendered files.
    ///
    /// # Errors
    /// It can't be read.
    pub fn evidence(&self) -> Result<BTreeSet<(JobId, Sha256Digest)>, StoreError> {
        let mut found = BTreeSet::new();
        self.query("listing evidence", |db| {
            let kept = "FROM jobs JOIN {} USING (job_id) WHERE evidence_removed_at IS NULL";
            let results = format!("SELECT job_id, result {}", kept.replace("{}", "episodes"));
            each(db, &results, |row| add(&mut found, row, &json::<EpisodeResult>(row, "result")?.evidence))?;
            let drawn = format!("SELECT job_id, files {}", kept.replace("{}", "renders"));
            each(db, &drawn, |row| add(&mut found, row, &json::<Vec<Artifact>>(row, "files")?))
        })?;
        Ok(found)
    }

    /// Returns the number of rows of a table.
    pub(crate) fn count_rows(&self, table: &str) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {table}");
        self.query("counting rows", |db| Ok(value::<i64>(db, &sql, [])?.unsigned_abs()))
    }

    /// Returns the connection, for queries of its owner.
    pub(crate) fn connection(&self) -> &Connection {
        &self.0
    }

    /// Returns the error of a query on [`Self::connection`].
    pub(crate) fn read_failed(error: rusqlite::Error) -> StoreError {
        database("reading the records", error)
    }

    fn query<T>(&self, doing: &'static str, query: impl FnOnce(&Connection) -> SqlResult<T>) -> Result<T, StoreError> {
        query(&self.0).map_err(|fail| fail.while_doing(doing))
    }
}

fn open(file: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let opened = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).and_then(|db| {
        db.busy_timeout(BUSY_TIMEOUT)?;
        Ok(db)
    });
    opened.map_err(|e| database("opening the records", e))
}

fn each(db: &Connection, sql: &str, mut visit: impl FnMut(&Row<'_>) -> SqlResult<()>) -> SqlResult<()> {
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        visit(row)?;
    }
    Ok(())
}

fn add(found: &mut BTreeSet<(JobId, Sha256Digest)>, row: &Row<'_>, artifacts: &[Artifact]) -> SqlResult<()> {
    let job: JobId = parsed(row, "job_id")?;
    found.extend(artifacts.iter().map(|artifact| (job, artifact.sha256)));
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::SqliteRecords;

    #[test]
    fn records_are_copied_while_a_server_holds_them() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let _server = SqliteRecords::open(&data, "a test").unwrap();
        let to = folder.path().join("copy.db");
        let copy = RecordsCopy::create(&data, &to).unwrap();
        assert_eq!(copy.counts().unwrap(), RecordCounts { jobs: 0, episodes: 0 });
        assert_eq!(copy.check_integrity().unwrap(), None);
        assert!(copy.policy_paths().unwrap().is_empty() && copy.evidence().unwrap().is_empty());
        assert!(copy.policy_server_jobs().unwrap().is_empty() && copy.scenario_digests().unwrap().is_empty());
        assert!(copy.models().unwrap().is_empty());
        assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(RecordsCopy::create(&data, &to).is_err(), "a file is never overwritten");
        assert!(RecordsCopy::create(folder.path(), &folder.path().join("other.db")).is_err(), "no records there");
        assert!(!folder.path().join(FILE_NAME).exists());
    }

    #[test]
    fn records_of_another_schema_are_not_copied() {
        let data = tempfile::tempdir().unwrap();
        drop(SqliteRecords::open(data.path(), "a test").unwrap());
        let to = data.path().join("copy.db");
        for (schema, newer) in [(RecordsCopy::schema() + 1, true), (RecordsCopy::schema() - 1, false)] {
            let db = Connection::open(data.path().join(FILE_NAME)).unwrap();
            db.pragma_update(None, "user_version", schema).unwrap();
            match RecordsCopy::create(data.path(), &to).unwrap_err() {
                OpenError::NewerSchema { found, .. } => assert!(newer && found == schema),
                OpenError::OlderSchema { found, .. } => assert!(!newer && found == schema),
                other => panic!("{other}"),
            }
            assert!(!to.exists());
        }
    }
}
