//! The table of keys.

use std::sync::Arc;

use assay_model::{AccountId, Scope};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row, named_params};

use super::SqliteRecords;
use super::failure::{SqlFailure, SqlResult, is_taken};
use super::row::{Column, all, change, field, first, micros, name, parsed, text, time, time_or_null, value};
use crate::{KeyId, KeyRecord, KeyRecords, RevokeOutcome, StoreError};

/// The columns that [`read`] reads, in its order.
const COLUMNS: &str = "id, account, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at";

#[async_trait]
impl KeyRecords for SqliteRecords {
    async fn create_key(&self, key: KeyRecord) -> Result<(), StoreError> {
        self.write("creating a key", move |db| create(db, &key)).await
    }

    async fn create_first_key(&self, key: KeyRecord) -> Result<bool, StoreError> {
        self.write("creating the first key", move |db| create_first(db, &key)).await
    }

    async fn key(&self, id: &KeyId) -> Result<Option<Arc<KeyRecord>>, StoreError> {
        let commits = self.writer.commits();
        self.known_keys.get(id, commits, || self.query("reading a key", |db| get(db, id)))
    }

    async fn keys(&self, account: Option<&AccountId>) -> Result<Vec<KeyRecord>, StoreError> {
        self.read("listing keys", |db| list(db, account))
    }

    async fn revoke_key(&self, id: &KeyId, now: Timestamp) -> Result<bool, StoreError> {
        let id = id.clone();
        self.write("revoking a key", move |db| revoke(db, &id, now)).await
    }

    async fn revoke_key_unless_last_admin(&self, id: &KeyId, now: Timestamp) -> Result<RevokeOutcome, StoreError> {
        let id = id.clone();
        self.write("revoking a key", move |db| revoke_of_many(db, &id, now)).await
    }

    async fn rotate_key(&self, old: &KeyId, new: KeyRecord, now: Timestamp) -> Result<bool, StoreError> {
        let old = old.clone();
        self.write("rotating a key", move |db| rotate(db, &old, &new, now)).await
    }

    async fn touch_key(&self, id: &KeyId, now: Timestamp) -> Result<(), StoreError> {
        let id = id.clone();
        self.write("noting a key's use", move |db| touch(db, &id, now)).await
    }

    async fn has_key_ever_existed(&self) -> Result<bool, StoreError> {
        self.read("looking for keys", any_ever)
    }
}

pub(super) fn create(db: &Connection, key: &KeyRecord) -> SqlResult<()> {
    let inserted = db
        .prepare_cached(
            "INSERT INTO keys (id, account, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at)
             VALUES (:id, :account, :name, :scopes, :hash, :created, :expires, :revoked, :used)",
        )?
        .execute(named_params! {
            ":id": key.id.as_str(),
            ":account": key.account.as_str(),
            ":name": key.name,
            ":scopes": key.scopes.to_string(),
            ":hash": key.secret_hash,
            ":created": micros(key.created_at),
            ":expires": key.expires_at.map(micros),
            ":revoked": key.revoked_at.map(micros),
            ":used": key.last_used_at.map(micros),
        });
    match inserted {
        Ok(_) => Ok(()),
        Err(e) if is_taken(&e) => Err(StoreError::Exists { what: "key", id: key.id.to_string() }.into()),
        Err(e) => Err(e.into()),
    }
}

pub(super) fn create_first(db: &Connection, key: &KeyRecord) -> SqlResult<bool> {
    if any_ever(db)? {
        return Ok(false);
    }
    create(db, key).map(|()| true)
}

pub(super) fn get(db: &Connection, id: &KeyId) -> SqlResult<Option<KeyRecord>> {
    first(db, &format!("SELECT {COLUMNS} FROM keys WHERE id = ?1"), [id.as_str()], read)
}

pub(super) fn list(db: &Connection, account: Option<&AccountId>) -> SqlResult<Vec<KeyRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM keys WHERE ?1 IS NULL OR account = ?1 ORDER BY created_at, id");
    all(db, &sql, [account.map(AccountId::as_str)], read)
}

pub(super) fn revoke(db: &Connection, id: &KeyId, now: Timestamp) -> SqlResult<bool> {
    let sql = "UPDATE keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
    Ok(change(db, sql, (id.as_str(), micros(now)))? == 1)
}

pub(super) fn revoke_of_many(db: &Connection, id: &KeyId, now: Timestamp) -> SqlResult<RevokeOutcome> {
    let keys = list(db, None)?;
    let mut admins = keys.iter().filter(|key| key.is_valid(now) && key.scopes.has(Scope::Admin));
    let is_last = admins.next().is_some_and(|admin| admin.id == *id) && admins.next().is_none();
    if is_last {
        return Ok(RevokeOutcome::LastAdmin);
    }
    Ok(if revoke(db, id, now)? { RevokeOutcome::Done } else { RevokeOutcome::NothingToDo })
}

pub(super) fn rotate(db: &Connection, old: &KeyId, new: &KeyRecord, now: Timestamp) -> SqlResult<bool> {
    if !revoke(db, old, now)? {
        return Ok(false);
    }
    create(db, new).map(|()| true)
}

pub(super) fn touch(db: &Connection, id: &KeyId, now: Timestamp) -> SqlResult<()> {
    let sql = "UPDATE keys SET last_used_at = ?2 WHERE id = ?1 AND coalesce(last_used_at, 0) < ?2";
    change(db, sql, (id.as_str(), micros(now))).map(drop)
}

pub(super) fn any_ever(db: &Connection) -> SqlResult<bool> {
    value(db, "SELECT EXISTS (SELECT 1 FROM keys)", [])
}

fn read(row: &Row<'_>) -> SqlResult<KeyRecord> {
    let column = Column::nth;
    let id = KeyId::parse(text(row, column(0, "id"))?).ok_or_else(|| {
        SqlFailure::Store(StoreError::corrupt(name(row), "id", std::io::Error::other("not a key id")))
    })?;
    Ok(KeyRecord {
        id,
        account: parsed(row, column(1, "account"))?,
        name: field(row, column(2, "name"))?,
        scopes: parsed(row, column(3, "scopes"))?,
        secret_hash: field(row, column(4, "secret_hash"))?,
        created_at: time(row, column(5, "created_at"))?,
        expires_at: time_or_null(row, column(6, "expires_at"))?,
        revoked_at: time_or_null(row, column(7, "revoked_at"))?,
        last_used_at: time_or_null(row, column(8, "last_used_at"))?,
    })
}
