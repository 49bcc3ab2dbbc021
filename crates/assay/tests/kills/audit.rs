//! Triggers in the records of the service under test, which keep what it deletes or changes later.

use std::path::Path;

use assay_model::AttemptNote;
use rusqlite::Connection;

/// Copies every note on an attempt in the commit that makes it durable, and counts results that are changed or removed.
const TRIGGERS: &str = "
    CREATE TABLE audit_notes (job_id TEXT NOT NULL, note TEXT NOT NULL) STRICT;
    CREATE TRIGGER audit_of_notes AFTER INSERT ON attempt_notes BEGIN
        INSERT INTO audit_notes (job_id, note) VALUES (NEW.job_id, NEW.note);
    END;
    CREATE TABLE audit_changes (job_id TEXT NOT NULL, episode INTEGER NOT NULL) STRICT;
    CREATE TRIGGER audit_of_updates AFTER UPDATE ON episodes BEGIN
        INSERT INTO audit_changes (job_id, episode) VALUES (OLD.job_id, OLD.episode);
    END;
    CREATE TRIGGER audit_of_removals AFTER DELETE ON episodes BEGIN
        INSERT INTO audit_changes (job_id, episode) VALUES (OLD.job_id, OLD.episode);
    END;
";

/// Installs the triggers in the records of a server that does not run.
pub(crate) fn install(records: &Path) {
    Connection::open(records).unwrap().execute_batch(TRIGGERS).unwrap();
}

/// Returns the notes that were ever made on a job's attempts.
pub(crate) fn notes(records: &Connection, job: &str) -> Vec<AttemptNote> {
    let mut rows = records.prepare_cached("SELECT note FROM audit_notes WHERE job_id = ?1 ORDER BY rowid").unwrap();
    let notes = rows.query_map([job], |row| row.get::<_, String>(0)).unwrap();
    notes.map(|note| serde_json::from_str(&note.unwrap()).unwrap()).collect()
}

/// Returns the number of results that were changed or removed.
pub(crate) fn changes(records: &Connection) -> u32 {
    records.query_row("SELECT count(*) FROM audit_changes", [], |row| row.get(0)).unwrap()
}
