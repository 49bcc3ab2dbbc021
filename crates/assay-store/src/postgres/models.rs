//! The tables of models.

use std::collections::BTreeSet;

use assay_model::{AccountId, JobId, JobKind, ModelUploadId, Sha256Digest};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;

use super::failure::PgResult;
use super::removals::UNNEEDED;
use super::row::{
    Parameter, all, bigint, change, count, expect_one, field, first, job_id, micros, number, parsed, storable, time,
    time_or_null,
};
use super::session::PgSession;
use super::{PostgresRecords, quotas};
use crate::models::admit;
use crate::{
    AnnounceOutcome, MAX_LISTED_JOBS, ModelQuota, ModelRecord, ModelRecords, ModelRemoval, ModelState, NewJob,
    NewModel, StoreError,
};

const COLUMNS: &str =
    "upload_id, account, sha256, size_bytes, name, received_bytes, created_at, expires_at, completed_at";

#[async_trait]
impl ModelRecords for PostgresRecords {
    async fn announce_model(&self, new: NewModel, quota: ModelQuota) -> Result<AnnounceOutcome, StoreError> {
        self.engine.write("announcing a model", |db| announce(db, &new, quota)).await
    }

    async fn model(&self, account: &AccountId, sha256: Sha256Digest) -> Result<Option<ModelRecord>, StoreError> {
        self.engine.query("reading a model", |db| async move { get(&db, account, sha256).await }).await
    }

    async fn model_upload(
        &self,
        account: &AccountId,
        upload: ModelUploadId,
    ) -> Result<Option<ModelRecord>, StoreError> {
        self.engine.query("reading an upload", |db| get_upload(db, account, upload)).await
    }

    async fn models(
        &self,
        account: &AccountId,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<ModelRecord>, u64), StoreError> {
        self.engine.read("listing models", |db| list(db, account, limit, offset)).await
    }

    async fn record_model_bytes(
        &self,
        upload: ModelUploadId,
        received_bytes: u64,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.engine.write("recording an upload", |db| record_bytes(db, upload, received_bytes, expires_at)).await
    }

    async fn complete_model(&self, upload: ModelUploadId, now: Timestamp) -> Result<bool, StoreError> {
        self.engine.write("completing a model", |db| complete(db, upload, now)).await
    }

    async fn remove_model(&self, account: &AccountId, sha256: Sha256Digest) -> Result<ModelRemoval, StoreError> {
        self.engine.write("removing a model", |db| remove(db, account, sha256)).await
    }

    async fn remove_model_upload(&self, upload: ModelUploadId) -> Result<bool, StoreError> {
        self.engine.write("removing an upload", |db| remove_upload(db, upload)).await
    }

    async fn expired_model_uploads(&self, now: Timestamp, limit: u32) -> Result<Vec<ModelRecord>, StoreError> {
        self.engine.query("looking for expired uploads", |db| expired(db, now, limit)).await
    }

    async fn unused_models(&self, before: Timestamp, limit: u32) -> Result<Vec<ModelRecord>, StoreError> {
        self.engine.query("looking for unused models", |db| unused(db, before, limit)).await
    }
}

async fn get_upload(db: PgSession, account: &AccountId, upload: ModelUploadId) -> PgResult<Option<ModelRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM models WHERE upload_id = $1 AND account = $2");
    first(&db, &sql, &[&upload.0, &account.as_str()], read).await
}

async fn list(db: PgSession, account: &AccountId, limit: u32, offset: u32) -> PgResult<(Vec<ModelRecord>, u64)> {
    let sql =
        format!("SELECT {COLUMNS} FROM models WHERE account = $1 ORDER BY created_at DESC, sha256 LIMIT $2 OFFSET $3");
    let found = all(&db, &sql, &[&account.as_str(), &i64::from(limit), &i64::from(offset)], read).await?;
    let total = count(&db, "SELECT count(*) FROM models WHERE account = $1", &[&account.as_str()]).await?;
    Ok((found, total))
}

async fn record_bytes(db: PgSession, upload: ModelUploadId, received: u64, expires_at: Timestamp) -> PgResult<bool> {
    let sql = "UPDATE models SET received_bytes = $2, expires_at = $3
               WHERE upload_id = $1 AND completed_at IS NULL";
    Ok(change(&db, sql, &[&upload.0, &bigint(received), &micros(expires_at)]).await? == 1)
}

async fn complete(db: PgSession, upload: ModelUploadId, now: Timestamp) -> PgResult<bool> {
    let sql = "UPDATE models SET received_bytes = size_bytes, expires_at = NULL, completed_at = $2
               WHERE upload_id = $1 AND completed_at IS NULL";
    Ok(change(&db, sql, &[&upload.0, &micros(now)]).await? == 1)
}

async fn remove_upload(db: PgSession, upload: ModelUploadId) -> PgResult<bool> {
    let sql = "DELETE FROM models WHERE upload_id = $1 AND completed_at IS NULL";
    Ok(change(&db, sql, &[&upload.0]).await? == 1)
}

async fn expired(db: PgSession, now: Timestamp, limit: u32) -> PgResult<Vec<ModelRecord>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM models WHERE expires_at IS NOT NULL AND expires_at <= $1 ORDER BY expires_at LIMIT $2"
    );
    all(&db, &sql, &[&micros(now), &i64::from(limit)], read).await
}

async fn unused(db: PgSession, before: Timestamp, limit: u32) -> PgResult<Vec<ModelRecord>> {
    let needed = needed();
    let sql = format!(
        "SELECT {COLUMNS} FROM models
         WHERE models.completed_at IS NOT NULL AND models.completed_at < $1 AND NOT EXISTS (
             SELECT 1 FROM job_models AS used JOIN jobs USING (job_id)
             WHERE used.account = models.account AND used.sha256 = models.sha256
                   AND (jobs.completed_at >= $1 OR {needed}))
         ORDER BY models.completed_at LIMIT $2"
    );
    all(&db, &sql, &[&micros(before), &i64::from(limit)], read).await
}

/// Records that a job uses its models, or fails if its account lacks one of them.
pub(super) async fn claim(db: &PgSession, job: &NewJob) -> PgResult<()> {
    let digests: BTreeSet<Sha256Digest> = job.header.models.iter().map(|model| model.sha256).collect();
    // The lock keeps the model from being removed at this moment.
    let sql = "INSERT INTO job_models (account, sha256, job_id)
               SELECT account, sha256, $3 FROM models
               WHERE account = $1 AND sha256 = $2 AND completed_at IS NOT NULL FOR SHARE";
    let id = job.header.job_id.0;
    for sha256 in digests {
        let is_found = change(db, sql, &[&job.account.as_str(), &sha256.to_string(), &id]).await? == 1;
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

async fn announce(db: PgSession, new: &NewModel, quota: ModelQuota) -> PgResult<AnnounceOutcome> {
    quotas::lock_account(&db, &new.account).await?;
    if let Some(known) = get(&db, &new.account, new.sha256).await? {
        return Ok(AnnounceOutcome::Known(known));
    }
    let sql = "SELECT count(*) AS models, coalesce(sum(size_bytes), 0)::bigint AS bytes
               FROM models WHERE account = $1";
    let has =
        first(&db, sql, &[&new.account.as_str()], |row| Ok((number(row, "models")?, number(row, "bytes")?))).await;
    admit(quota, has?.unwrap_or_default(), new.size_bytes)?;
    let sql = "INSERT INTO models (account, sha256, size_bytes, name, upload_id, created_at, expires_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let values: [Parameter<'_>; 7] = [
        &new.account.as_str(),
        &new.sha256.to_string(),
        &bigint(new.size_bytes),
        &new.name.as_deref().map(storable),
        &new.upload.0,
        &micros(new.created_at),
        &micros(new.expires_at),
    ];
    change(&db, sql, &values).await?;
    let lost = || StoreError::Invalid("a model that was just announced does not exist".into());
    Ok(AnnounceOutcome::New(get(&db, &new.account, new.sha256).await?.ok_or_else(lost)?))
}

async fn remove(db: PgSession, account: &AccountId, sha256: Sha256Digest) -> PgResult<ModelRemoval> {
    let key: [Parameter<'_>; 2] = [&account.as_str(), &sha256.to_string()];
    let sql = format!("SELECT {COLUMNS} FROM models WHERE account = $1 AND sha256 = $2 FOR UPDATE");
    let Some(record) = first(&db, &sql, &key, read).await?.filter(ModelRecord::is_ready) else {
        return Ok(ModelRemoval::NotFound);
    };
    let sql = format!(
        "SELECT jobs.job_id FROM job_models AS used JOIN jobs USING (job_id)
         WHERE used.account = $1 AND used.sha256 = $2 AND {} ORDER BY jobs.job_id LIMIT {MAX_LISTED_JOBS}",
        needed()
    );
    let jobs: Vec<JobId> = all(&db, &sql, &key, |row| job_id(row, "job_id")).await?;
    if !jobs.is_empty() {
        return Ok(ModelRemoval::InUse(jobs));
    }
    expect_one(change(&db, "DELETE FROM models WHERE account = $1 AND sha256 = $2", &key).await?, "a model")?;
    Ok(ModelRemoval::Done(record))
}

async fn get(db: &PgSession, account: &AccountId, sha256: Sha256Digest) -> PgResult<Option<ModelRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM models WHERE account = $1 AND sha256 = $2");
    first(db, &sql, &[&account.as_str(), &sha256.to_string()], read).await
}

fn read(row: &Row) -> PgResult<ModelRecord> {
    let state = match time_or_null(row, "completed_at")? {
        Some(completed_at) => ModelState::Ready { completed_at },
        None => ModelState::Uploading { expires_at: time(row, "expires_at")? },
    };
    Ok(ModelRecord {
        account: parsed(row, "account")?,
        sha256: parsed(row, "sha256")?,
        size_bytes: number(row, "size_bytes")?,
        name: field(row, "name")?,
        upload: field(row, "upload_id").map(ModelUploadId)?,
        received_bytes: number(row, "received_bytes")?,
        created_at: time(row, "created_at")?,
        state,
    })
}
