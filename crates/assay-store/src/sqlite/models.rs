//! The tables of models.

use std::collections::BTreeSet;

use assay_model::{AccountId, JobId, JobKind, ModelUploadId, Sha256Digest};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::SqliteRecords;
use super::failure::SqlResult;
use super::removals::UNNEEDED;
use super::row::{all, change, expect_one, first, micros, parsed, time, time_or_null, value};
use crate::{
    AnnounceOutcome, MAX_LISTED_JOBS, ModelQuota, ModelRecord, ModelRecords, ModelRemoval, ModelState, NewJob,
    NewModel, StoreError,
};

const COLUMNS: &str =
    "upload_id, account, sha256, size_bytes, name, received_bytes, created_at, expires_at, completed_at";

#[async_trait]
impl ModelRecords for SqliteRecords {
    async fn announce_model(&self, new: NewModel, quota: ModelQuota) -> Result<AnnounceOutcome, StoreError> {
        self.write("announcing a model", move |db| announce(db, &new, quota)).await
    }

    async fn model(&self, account: &AccountId, sha256: Sha256Digest) -> Result<Option<ModelRecord>, StoreError> {
        self.query("reading a model", |db| get(db, account, sha256))
    }

    async fn model_upload(
        &self,
        account: &AccountId,
        upload: ModelUploadId,
    ) -> Result<Option<ModelRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM models WHERE upload_id = ?1 AND account = ?2");
        self.query("reading an upload", |db| first(db, &sql, (upload.to_string(), account.as_str()), read))
    }

    async fn models(
        &self,
        account: &AccountId,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<ModelRecord>, u64), StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM models WHERE account = ?1 ORDER BY created_at DESC, sha256 LIMIT ?2 OFFSET ?3"
        );
        self.read("listing models", |db| {
            let found = all(db, &sql, (account.as_str(), limit, offset), read)?;
            let total: i64 = value(db, "SELECT count(*) FROM models WHERE account = ?1", [account.as_str()])?;
            Ok((found, total.unsigned_abs()))
        })
    }

    async fn record_model_bytes(
        &self,
        upload: ModelUploadId,
        received_bytes: u64,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE models SET received_bytes = ?2, expires_at = ?3
                   WHERE upload_id = ?1 AND completed_at IS NULL";
        let row = (upload.to_string(), number(received_bytes), micros(expires_at));
        self.write("recording an upload", move |db| Ok(change(db, sql, row)? == 1)).await
    }

    async fn complete_model(&self, upload: ModelUploadId, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE models SET received_bytes = size_bytes, expires_at = NULL, completed_at = ?2
                   WHERE upload_id = ?1 AND completed_at IS NULL";
        let row = (upload.to_string(), micros(now));
        self.write("completing a model", move |db| Ok(change(db, sql, row)? == 1)).await
    }

    async fn remove_model(&self, account: &AccountId, sha256: Sha256Digest) -> Result<ModelRemoval, StoreError> {
        let account = account.clone();
        self.write("removing a model", move |db| remove(db, &account, sha256)).await
    }

    async fn remove_model_upload(&self, upload: ModelUploadId) -> Result<bool, StoreError> {
        let sql = "DELETE FROM models WHERE upload_id = ?1 AND completed_at IS NULL";
        self.write("removing an upload", move |db| Ok(change(db, sql, [upload.to_string()])? == 1)).await
    }

    async fn expired_model_uploads(&self, now: Timestamp, limit: u32) -> Result<Vec<ModelRecord>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM models WHERE expires_at IS NOT NULL AND expires_at <= ?1
             ORDER BY expires_at LIMIT ?2"
        );
        self.read("looking for expired uploads", |db| all(db, &sql, (micros(now), limit), read))
    }

    async fn unused_models(&self, before: Timestamp, limit: u32) -> Result<Vec<ModelRecord>, StoreError> {
        let needed = needed();
        let sql = format!(
            "SELECT {COLUMNS} FROM models
             WHERE models.completed_at IS NOT NULL AND models.completed_at < ?1 AND NOT EXISTS (
                 SELECT 1 FROM job_models AS used JOIN jobs USING (job_id)
                 WHERE used.account = models.account AND used.sha256 = models.sha256
                       AND (jobs.completed_at >= ?1 OR {needed}))
             ORDER BY models.completed_at LIMIT ?2"
        );
        self.read("looking for unused models", |db| all(db, &sql, (micros(before), limit), read))
    }
}

/// Records that a job uses its models, or fails if its account lacks one of them.
pub(super) fn claim(db: &Connection, job: &NewJob) -> SqlResult<()> {
    let digests: BTreeSet<Sha256Digest> = job.header.models.iter().map(|model| model.sha256).collect();
    let sql = "INSERT INTO job_models (account, sha256, job_id)
               SELECT account, sha256, ?3 FROM models
               WHERE account = ?1 AND sha256 = ?2 AND completed_at IS NOT NULL";
    let id = job.header.job_id.to_string();
    for sha256 in digests {
        let is_found = change(db, sql, (job.account.as_str(), sha256.to_string(), &id))? == 1;
        // A submission keeps its models until its season is closed, so those of its rerun are there.
        if !is_found && job.header.kind() != JobKind::Rerun {
            return Err(StoreError::MissingModel(sha256).into());
        }
    }
    Ok(())
}

/// Returns the SQL condition that a row of `jobs` still needs its models.
fn needed() -> String {
    format!("(jobs.policy_removed_at IS NULL AND (jobs.completed_at IS NULL OR NOT {UNNEEDED}))")
}

fn announce(db: &Connection, new: &NewModel, quota: ModelQuota) -> SqlResult<AnnounceOutcome> {
    if let Some(known) = get(db, &new.account, new.sha256)? {
        return Ok(AnnounceOutcome::Known(known));
    }
    admit(db, new, quota)?;
    let sql = "INSERT INTO models (account, sha256, size_bytes, name, upload_id, created_at, expires_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let (account, sha256, upload) = (new.account.as_str(), new.sha256.to_string(), new.upload.to_string());
    let (created, expires) = (micros(new.created_at), micros(new.expires_at));
    change(db, sql, (account, sha256, number(new.size_bytes), &new.name, upload, created, expires))?;
    let lost = || StoreError::Invalid("a model that was just announced does not exist".into());
    Ok(AnnounceOutcome::New(get(db, &new.account, new.sha256)?.ok_or_else(lost)?))
}

/// Fails if the account would have more models than its quota.
fn admit(db: &Connection, new: &NewModel, quota: ModelQuota) -> SqlResult<()> {
    let sql = "SELECT account, count(*) AS models, coalesce(sum(size_bytes), 0) AS bytes
               FROM models WHERE account = ?1";
    let has = first(db, sql, [new.account.as_str()], |row| {
        Ok((row.get::<_, i64>("models")?.unsigned_abs(), row.get::<_, i64>("bytes")?.unsigned_abs()))
    })?;
    Ok(crate::models::admit(quota, has.unwrap_or_default(), new.size_bytes)?)
}

fn remove(db: &Connection, account: &AccountId, sha256: Sha256Digest) -> SqlResult<ModelRemoval> {
    let Some(record) = get(db, account, sha256)?.filter(ModelRecord::is_ready) else {
        return Ok(ModelRemoval::NotFound);
    };
    let sql = format!(
        "SELECT jobs.job_id FROM job_models AS used JOIN jobs USING (job_id)
         WHERE used.account = ?1 AND used.sha256 = ?2 AND {} ORDER BY jobs.job_id LIMIT ?3",
        needed()
    );
    let key = (account.as_str(), sha256.to_string());
    let jobs: Vec<JobId> = all(db, &sql, (key.0, &key.1, MAX_LISTED_JOBS), |row| parsed(row, "job_id"))?;
    if !jobs.is_empty() {
        return Ok(ModelRemoval::InUse(jobs));
    }
    expect_one(change(db, "DELETE FROM models WHERE account = ?1 AND sha256 = ?2", key)?, "a model")?;
    Ok(ModelRemoval::Done(record))
}

fn get(db: &Connection, account: &AccountId, sha256: Sha256Digest) -> SqlResult<Option<ModelRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM models WHERE account = ?1 AND sha256 = ?2");
    first(db, &sql, (account.as_str(), sha256.to_string()), read)
}

fn read(row: &Row<'_>) -> SqlResult<ModelRecord> {
    let number = |column: &str| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.unsigned_abs());
    let state = match time_or_null(row, "completed_at")? {
        Some(completed_at) => ModelState::Ready { completed_at },
        None => ModelState::Uploading { expires_at: time(row, "expires_at")? },
    };
    Ok(ModelRecord {
        account: parsed(row, "account")?,
        sha256: parsed(row, "sha256")?,
        size_bytes: number("size_bytes")?,
        name: row.get("name")?,
        upload: parsed(row, "upload_id")?,
        received_bytes: number("received_bytes")?,
        created_at: time(row, "created_at")?,
        state,
    })
}

/// Returns a size as stored in a column.
fn number(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
