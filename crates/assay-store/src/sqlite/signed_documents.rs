//! The table of signed documents.

use assay_model::JobId;
use rusqlite::Connection;

use super::failure::SqlResult;
use super::row::{change, first};
use crate::{SignedDocument, SignedDocuments};

/// Stores the documents of a job that has just been completed.
pub(super) fn insert(db: &Connection, job: JobId, signed: &SignedDocuments) -> SqlResult<()> {
    let sql = "INSERT INTO signed (job_id, report, statement) VALUES (?1, ?2, ?3)";
    change(db, sql, (job.to_string(), &signed.report, &signed.statement)).map(drop)
}

pub(super) fn get(db: &Connection, job: JobId, document: SignedDocument) -> SqlResult<Option<Vec<u8>>> {
    let sql = match document {
        SignedDocument::Report => "SELECT report FROM signed WHERE job_id = ?1",
        SignedDocument::Statement => "SELECT statement FROM signed WHERE job_id = ?1",
    };
    first(db, sql, [job.to_string()], |row| Ok(row.get(0)?))
}

/// Deletes the documents of a job that is erased, and of its rerun.
pub(super) fn delete(db: &Connection, erased: &str) -> SqlResult<()> {
    let sql = "DELETE FROM signed WHERE job_id IN (SELECT job_id FROM jobs WHERE job_id = ?1 OR rerun_of = ?1)";
    change(db, sql, [erased]).map(drop)
}
