//! The table of signed documents.

use assay_model::JobId;

use super::failure::PgResult;
use super::row::{change, field, first};
use super::session::PgSession;
use crate::{SignedDocument, SignedDocuments};

/// Stores the documents of a job that has just been completed.
pub(super) async fn insert(db: &PgSession, job: JobId, signed: &SignedDocuments) -> PgResult<()> {
    let sql = "INSERT INTO signed (job_id, report, statement) VALUES ($1, $2, $3)";
    change(db, sql, &[&job.0, &signed.report, &signed.statement]).await.map(drop)
}

pub(super) async fn get(db: PgSession, job: JobId, document: SignedDocument) -> PgResult<Option<Vec<u8>>> {
    let sql = match document {
        SignedDocument::Report => "SELECT job_id, report AS document FROM signed WHERE job_id = $1",
        SignedDocument::Statement => "SELECT job_id, statement AS document FROM signed WHERE job_id = $1",
    };
    first(&db, sql, &[&job.0], |row| field(row, "document")).await
}

/// Deletes the documents of a job that is erased, and of its rerun.
pub(super) async fn delete(db: &PgSession, erased: JobId) -> PgResult<()> {
    let sql = "DELETE FROM signed WHERE job_id IN (SELECT job_id FROM jobs WHERE job_id = $1 OR rerun_of = $1)";
    change(db, sql, &[&erased.0]).await.map(drop)
}
