//! The table of accesses.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::SqliteRecords;
use super::failure::{SqlFailure, SqlResult};
use super::row::{all, change, micros, parsed, text, time};
use crate::{AccessFilter, AccessRecord, AccessRecords, KeyId, StoreError};

#[async_trait]
impl AccessRecords for SqliteRecords {
    async fn record_accesses(&self, accesses: Vec<AccessRecord>) -> Result<(), StoreError> {
        if accesses.is_empty() {
            return Ok(());
        }
        self.write("recording an access", move |db| record(db, &accesses)).await
    }

    async fn accesses(&self, filter: &AccessFilter) -> Result<Vec<AccessRecord>, StoreError> {
        let sql = "SELECT target, at, key_id, account, owner, action FROM accesses
                   WHERE (?1 IS NULL OR account = ?1) AND (?2 IS NULL OR owner = ?2)
                   ORDER BY moment DESC, at DESC, key_id, action, target LIMIT ?3 OFFSET ?4";
        let [account, owner] = [&filter.account, &filter.owner].map(|id| id.as_ref().map(ToString::to_string));
        self.query("listing accesses", |db| all(db, sql, (account, owner, filter.limit, filter.offset), read))
    }

    async fn forget_accesses(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let sql = "DELETE FROM accesses WHERE (moment, key_id, action, target) IN
                       (SELECT moment, key_id, action, target FROM accesses WHERE at < ?1 LIMIT ?2)";
        let values = (micros(before), limit);
        self.write("forgetting accesses", move |db| Ok(change(db, sql, values)? as u64)).await
    }
}

fn record(db: &Connection, accesses: &[AccessRecord]) -> SqlResult<()> {
    let sql = "INSERT INTO accesses (moment, key_id, action, target, at, account, owner)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
    for access in accesses {
        let AccessRecord { at, key, account, owner, action, target } = access;
        let values = (access.window(), key.as_str(), action, target, micros(*at), account.as_str(), owner.as_str());
        change(db, sql, values)?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> SqlResult<AccessRecord> {
    let id = text(row, "key_id")?;
    let key = KeyId::parse(id)
        .ok_or_else(|| SqlFailure::Store(StoreError::corrupt(id, "key_id", std::io::Error::other("not a key id"))))?;
    Ok(AccessRecord {
        at: time(row, "at")?,
        key,
        account: parsed(row, "account")?,
        owner: parsed(row, "owner")?,
        action: text(row, "action")?.to_owned(),
        target: text(row, "target")?.to_owned(),
    })
}
