//! The union of all repositories.

use async_trait::async_trait;

use super::PostgresRecords;
use super::row::value;
use crate::{Records, StoreError};

#[async_trait]
impl Records for PostgresRecords {
    async fn ping(&self) -> Result<(), StoreError> {
        self.engine
            .query("pinging the database", |db| async move {
                value::<i64>(&db, "SELECT count(*) FROM assay_schema", &[]).await
            })
            .await
            .map(drop)
    }
}
