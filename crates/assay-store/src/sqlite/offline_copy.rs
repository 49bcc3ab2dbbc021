//! Copy of the records of a folder on which no server runs.

use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::RecordsCopy;
use super::connection::connect_writable;
use super::migrate::{MIGRATIONS, migrate};
use super::open_error::OpenError;

/// Suffix of the write-ahead log, which has the last commits of a server that was killed.
const LOG: &str = "-wal";

impl RecordsCopy {
    /// Copies the records of the folder `data` to the new folder `to`, and migrates the copy to this version's schema.
    /// Nothing in `data` changes; the caller holds its lock.
    ///
    /// # Errors
    /// There are no records, they are of a newer version, or the copy cannot be written.
    pub fn of_stopped_server(data: &Path, to: &Path) -> Result<Self, OpenError> {
        let (from, copy) = (data.join(Self::FILE_NAME), to.join(Self::FILE_NAME));
        copy_file(&from, &copy)?;
        match copy_file(&beside(&from), &beside(&copy)) {
            // The server was stopped cleanly.
            Err(OpenError::File { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            copied => copied?,
        }
        let mut db = connect_writable(&copy)?;
        migrate(&mut db, &copy, MIGRATIONS)?;
        drop(db);
        Ok(Self::open(&copy)?)
    }
}

fn copy_file(from: &Path, to: &Path) -> Result<(), OpenError> {
    let copy = || {
        let mut target = File::create_new(to)?;
        target.set_permissions(Permissions::from_mode(0o600))?;
        std::io::copy(&mut File::open(from)?, &mut target).map(drop)
    };
    if !fs::exists(from).unwrap_or(true) {
        return Err(OpenError::file("find", from, ErrorKind::NotFound.into()));
    }
    copy().map_err(|e| OpenError::file("copy", from, e))
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(LOG);
    name.into()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use rusqlite::Connection;

    use super::*;
    use crate::sqlite::connection::connect;

    #[test]
    fn commits_that_are_only_in_the_log_are_copied() {
        let (data, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = data.path().join(RecordsCopy::FILE_NAME);
        let mut db = connect_writable(&file).unwrap();
        migrate(&mut db, &file, &MIGRATIONS[..10]).unwrap();
        let second = connect(&file).unwrap();
        second.execute("INSERT INTO paces VALUES ('reach', 0, 7, 1.5)", []).unwrap();
        let content = |path: &Path| fs::read(path).unwrap();
        let before = (content(&file), content(&beside(&file)));
        assert!(!before.1.is_empty(), "the commits are in the log");
        let copy = RecordsCopy::of_stopped_server(data.path(), to.path()).unwrap();
        assert_eq!(copy.count_rows("paces").unwrap(), 1);
        assert_eq!(copy.check_integrity().unwrap(), None);
        assert_eq!(before, (content(&file), content(&beside(&file))), "the source is untouched");
        drop((db, second));
        let found: u32 =
            Connection::open(&file).unwrap().pragma_query_value(None, "user_version", |r| r.get(0)).unwrap();
        assert_eq!(found, 10, "only the copy is migrated");
        let missing = RecordsCopy::of_stopped_server(to.path().join("none").as_path(), to.path()).unwrap_err();
        assert!(missing.to_string().contains("could not find"), "{missing}");
    }
}
