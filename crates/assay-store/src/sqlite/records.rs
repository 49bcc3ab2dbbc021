//! The union of all repositories.

use async_trait::async_trait;

use super::SqliteRecords;
use super::row::value;
use crate::{Records, StoreError};

#[async_trait]
impl Records for SqliteRecords {
    async fn ping(&self) -> Result<(), StoreError> {
        self.read("pinging the database", |db| value::<i64>(db, "SELECT count(*) FROM sqlite_schema", []).map(drop))
    }
}
