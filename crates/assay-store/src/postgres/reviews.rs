//! The table of reviews.

use assay_model::{AccountId, JobId, JobStatus, Review};
use async_trait::async_trait;

use super::failure::PgResult;
use super::row::{change, expect_one, to_json, value};
use super::session::PgSession;
use super::{PostgresRecords, jobs};
use crate::{KeyId, MAX_REVIEWS, ReviewOutcome, ReviewRecords, StoreError};

#[async_trait]
impl ReviewRecords for PostgresRecords {
    async fn review_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        key: &KeyId,
        review: Review,
    ) -> Result<ReviewOutcome, StoreError> {
        self.engine.write("reviewing a job", |db| add(db, account, (id, key), &review)).await
    }
}

async fn add(
    db: PgSession,
    account: Option<&AccountId>,
    (id, key): (JobId, &KeyId),
    review: &Review,
) -> PgResult<ReviewOutcome> {
    match jobs::lock(&db, account, id).await? {
        None => return Ok(ReviewOutcome::NotFound),
        Some(JobStatus::Completed) => {}
        Some(other) => return Ok(ReviewOutcome::Not(other)),
    }
    let before: i64 = value(&db, "SELECT count(*) FROM reviews WHERE job_id = $1", &[&id.0]).await?;
    if before >= i64::from(MAX_REVIEWS) {
        return Ok(ReviewOutcome::TooMany);
    }
    let sql = "INSERT INTO reviews (job_id, number, key_id, review) VALUES ($1, $2, $3, $4)";
    let added = change(&db, sql, &[&id.0, &(before + 1), &key.as_str(), &to_json(review)?]).await;
    expect_one(added?, "a new review")?;
    Ok(ReviewOutcome::Done)
}
