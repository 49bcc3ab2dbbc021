//! The table of reviews.

use assay_model::{AccountId, JobId, JobStatus, Review};
use async_trait::async_trait;
use rusqlite::Connection;

use super::SqliteRecords;
use super::failure::SqlResult;
use super::row::{change, expect_one, first, status, to_json, value};
use crate::{KeyId, MAX_REVIEWS, ReviewOutcome, ReviewRecords, StoreError};

#[async_trait]
impl ReviewRecords for SqliteRecords {
    async fn review_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        key: &KeyId,
        review: Review,
    ) -> Result<ReviewOutcome, StoreError> {
        let (account, key) = (account.cloned(), key.clone());
        self.write("reviewing a job", move |db| add(db, account.as_ref(), id, &key, &review)).await
    }
}

pub(super) fn add(
    db: &Connection,
    account: Option<&AccountId>,
    id: JobId,
    key: &KeyId,
    review: &Review,
) -> SqlResult<ReviewOutcome> {
    let owned = "SELECT status FROM jobs WHERE job_id = ?1 AND (?2 IS NULL OR account = ?2)";
    let id = id.to_string();
    match first(db, owned, (&id, account.map(AccountId::as_str)), status)? {
        None => return Ok(ReviewOutcome::NotFound),
        Some(JobStatus::Completed) => {}
        Some(other) => return Ok(ReviewOutcome::Not(other)),
    }
    let before: u32 = value(db, "SELECT count(*) FROM reviews WHERE job_id = ?1", [&id])?;
    if before >= MAX_REVIEWS {
        return Ok(ReviewOutcome::TooMany);
    }
    let sql = "INSERT INTO reviews (job_id, number, key_id, review) VALUES (?1, ?2, ?3, ?4)";
    expect_one(change(db, sql, (&id, before + 1, key.as_str(), to_json(review)?))?, "a new review")?;
    Ok(ReviewOutcome::Done)
}
