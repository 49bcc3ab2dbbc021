//! The table of accesses.

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;

use super::PostgresRecords;
use super::failure::PgResult;
use super::row::{all, change, micros, parsed, storable, text, time, unknown};
use super::session::PgSession;
use crate::{AccessFilter, AccessRecord, AccessRecords, KeyId, StoreError};

#[async_trait]
impl AccessRecords for PostgresRecords {
    async fn record_accesses(&self, accesses: Vec<AccessRecord>) -> Result<(), StoreError> {
        if accesses.is_empty() {
            return Ok(());
        }
        self.engine.write("recording an access", |db| record(db, &accesses)).await
    }

    async fn accesses(&self, filter: &AccessFilter) -> Result<Vec<AccessRecord>, StoreError> {
        self.engine.query("listing accesses", |db| list(db, filter)).await
    }

    async fn forget_accesses(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.engine.write("forgetting accesses", |db| forget(db, before, limit)).await
    }
}

async fn record(db: PgSession, accesses: &[AccessRecord]) -> PgResult<()> {
    let sql = "INSERT INTO accesses (moment, key_id, action, target, at, account, owner)
               VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
    // In one order, so that two servers that record the same do not wait for each other.
    let mut sorted: Vec<&AccessRecord> = accesses.iter().collect();
    sorted.sort_by(|a, b| (a.window(), &a.action, &a.target).cmp(&(b.window(), &b.action, &b.target)));
    for access in sorted {
        let AccessRecord { at, key, account, owner, action, target } = access;
        let (action, target) = (storable(action), storable(target));
        change(
            &db,
            sql,
            &[
                &access.window(),
                &key.as_str(),
                &action.as_ref(),
                &target.as_ref(),
                &micros(*at),
                &account.as_str(),
                &owner.as_str(),
            ],
        )
        .await?;
    }
    Ok(())
}

async fn list(db: PgSession, filter: &AccessFilter) -> PgResult<Vec<AccessRecord>> {
    let sql = "SELECT target, at, key_id, account, owner, action FROM accesses
               WHERE ($1::text IS NULL OR account = $1) AND ($2::text IS NULL OR owner = $2)
               ORDER BY moment DESC, at DESC, key_id, action, target LIMIT $3 OFFSET $4";
    let [account, owner] = [&filter.account, &filter.owner].map(|id| id.as_ref().map(ToString::to_string));
    let (limit, offset) = (i64::from(filter.limit), i64::from(filter.offset));
    all(&db, sql, &[&account, &owner, &limit, &offset], read).await
}

async fn forget(db: PgSession, before: Timestamp, limit: u32) -> PgResult<u64> {
    let sql = "DELETE FROM accesses WHERE (moment, key_id, action, target) IN
                   (SELECT moment, key_id, action, target FROM accesses WHERE at < $1 LIMIT $2)";
    change(&db, sql, &[&micros(before), &i64::from(limit)]).await
}

fn read(row: &Row) -> PgResult<AccessRecord> {
    let key = text(row, "key_id")?;
    Ok(AccessRecord {
        at: time(row, "at")?,
        key: KeyId::parse(key).ok_or_else(|| unknown(row, "key_id", key))?,
        account: parsed(row, "account")?,
        owner: parsed(row, "owner")?,
        action: text(row, "action")?.to_owned(),
        target: text(row, "target")?.to_owned(),
    })
}
