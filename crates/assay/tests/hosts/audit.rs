//! Triggers in the records of the service under test, which keep what it deletes or changes later.

use assay_model::AttemptNote;
use assay_testkit::Postgres;

/// The site's database.
pub(crate) const DATABASE: &str = "test0";
/// Copies every note on an attempt in the commit that makes it durable, and counts results that are changed or removed.
const TRIGGERS: &str = "
    CREATE TABLE audit_notes (number bigserial PRIMARY KEY, job_id uuid NOT NULL, note text NOT NULL);
    CREATE TABLE audit_changes (job_id uuid NOT NULL, episode bigint NOT NULL);
    CREATE FUNCTION audit_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO audit_notes (job_id, note) VALUES (NEW.job_id, NEW.note);
        RETURN NULL;
    END $$;
    CREATE FUNCTION audit_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO audit_changes (job_id, episode) VALUES (OLD.job_id, OLD.episode);
        RETURN NULL;
    END $$;
    CREATE TRIGGER audit_of_notes AFTER INSERT ON attempt_notes FOR EACH ROW EXECUTE FUNCTION audit_note();
    CREATE TRIGGER audit_of_changes AFTER UPDATE OR DELETE ON episodes FOR EACH ROW EXECUTE FUNCTION audit_change();
";

/// Installs the triggers.
pub(crate) fn install(database: &Postgres) {
    database.sql(DATABASE, TRIGGERS);
}

/// Returns the notes that were ever made on a job's attempts.
pub(crate) fn notes(database: &Postgres, job: &str) -> Vec<AttemptNote> {
    let notes = database.sql(DATABASE, &format!("SELECT note FROM audit_notes WHERE job_id = '{job}' ORDER BY number"));
    notes.lines().map(|note| serde_json::from_str(note).unwrap()).collect()
}

/// Returns the number of results that were changed or removed.
pub(crate) fn changes(database: &Postgres) -> String {
    database.sql(DATABASE, "SELECT count(*) FROM audit_changes")
}
