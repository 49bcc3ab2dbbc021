//! The number of rows that the tests' tables have, for the runner of all tests.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Environment variable with the folder for the numbers: a file for each table.
const FOLDER: &str = "ASSAY_TEST_ROWS";

/// Writes the number of rows of a table to the file `table` in the folder `ASSAY_TEST_ROWS`; does nothing if the
/// variable is not set. A table that different tests check by parts has a name for each part (`policies.carry_cup`).
///
/// # Panics
/// Panics if the file cannot be written, or exists with another number: two tables have the same name.
#[track_caller]
pub fn count_rows(table: &str, rows: usize) {
    if let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) {
        write(&folder, table, rows);
    }
}

/// The file appears with its content, so that no other process reads a part of it.
#[track_caller]
fn write(folder: &Path, table: &str, rows: usize) {
    let (path, text) = (folder.join(table), format!("{rows}\n"));
    fs::create_dir_all(folder).unwrap();
    let mut file = tempfile::NamedTempFile::new_in(folder).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    match file.persist_noclobber(&path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
            let other = fs::read_to_string(&path).unwrap();
            assert_eq!(other, text, "two tables are called {table}");
        }
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "cheats.a", 3);
        write(folder.path(), "cheats.a", 3);
        write(folder.path(), "cheats.b", 4);
        let mut found: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        let texts: Vec<_> = found.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        assert_eq!(texts, ["3\n", "4\n"]);
        let twice = std::panic::catch_unwind(|| write(folder.path(), "cheats.b", 5));
        assert!(twice.is_err(), "two tables have one name");
    }
}
