//! The table of keys.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_model::{AccountId, Scope};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;

use super::PostgresRecords;
use super::failure::{PgResult, is_taken};
use super::row::{
    all, bytes32, change, field, first, micros, parsed, storable, text, time, time_or_null, unknown, value,
};
use super::session::PgSession;
use crate::{KeyId, KeyRecord, KeyRecords, RevokeOutcome, StoreError};

const COLUMNS: &str = "id, account, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at";
/// Keeps all other transactions from changing keys, for decisions that depend on several of them.
const LOCK: &str = "LOCK TABLE keys IN SHARE ROW EXCLUSIVE MODE";

impl PostgresRecords {
    /// Makes the cached keys of this process invalid after a change.
    fn changed_keys<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        // Also after an error, since the change may have taken effect.
        self.key_changes.fetch_add(1, Ordering::SeqCst);
        result
    }
}

#[async_trait]
impl KeyRecords for PostgresRecords {
    async fn create_key(&self, key: KeyRecord) -> Result<(), StoreError> {
        let key = &key;
        self.engine.write("creating a key", |db| async move { create(&db, key).await }).await
    }

    async fn create_first_key(&self, key: KeyRecord) -> Result<bool, StoreError> {
        self.engine.write("creating the first key", |db| create_first(db, &key)).await
    }

    async fn key(&self, id: &KeyId) -> Result<Option<Arc<KeyRecord>>, StoreError> {
        let changes = self.key_changes.load(Ordering::SeqCst);
        self.known_keys.get_async(id, changes, self.engine.query("reading a key", |db| get(db, id))).await
    }

    async fn keys(&self, account: Option<&AccountId>) -> Result<Vec<KeyRecord>, StoreError> {
        self.engine.query("listing keys", |db| async move { list(&db, account).await }).await
    }

    async fn revoke_key(&self, id: &KeyId, now: Timestamp) -> Result<bool, StoreError> {
        self.changed_keys(self.engine.write("revoking a key", |db| async move { revoke(&db, id, now).await }).await)
    }

    async fn revoke_key_unless_last_admin(&self, id: &KeyId, now: Timestamp) -> Result<RevokeOutcome, StoreError> {
        self.changed_keys(self.engine.write("revoking a key", |db| revoke_of_many(db, id, now)).await)
    }

    async fn rotate_key(&self, old: &KeyId, new: KeyRecord, now: Timestamp) -> Result<bool, StoreError> {
        self.changed_keys(self.engine.write("rotating a key", |db| rotate(db, old, &new, now)).await)
    }

    async fn touch_key(&self, id: &KeyId, now: Timestamp) -> Result<(), StoreError> {
        self.changed_keys(self.engine.write_lease("noting a key's use", |db| touch(db, id, now)).await)
    }

    async fn has_key_ever_existed(&self) -> Result<bool, StoreError> {
        self.engine.query("looking for keys", |db| async move { any_ever(&db).await }).await
    }
}

async fn create(db: &PgSession, key: &KeyRecord) -> PgResult<()> {
    let sql = "INSERT INTO keys (id, account, name, scopes, secret_hash, created_at, expires_at, revoked_at,
                                 last_used_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let inserted = change(
        db,
        sql,
        &[
            &key.id.as_str(),
            &key.account.as_str(),
            &storable(&key.name),
            &key.scopes.to_string(),
            &key.secret_hash.as_slice(),
            &micros(key.created_at),
            &key.expires_at.map(micros),
            &key.revoked_at.map(micros),
            &key.last_used_at.map(micros),
        ],
    )
    .await;
    match inserted {
        Ok(_) => Ok(()),
        Err(failure) if is_taken(&failure) => Err(StoreError::Exists { what: "key", id: key.id.to_string() }.into()),
        Err(failure) => Err(failure),
    }
}

async fn create_first(db: PgSession, key: &KeyRecord) -> PgResult<bool> {
    db.batch(LOCK).await?;
    if any_ever(&db).await? {
        return Ok(false);
    }
    create(&db, key).await.map(|()| true)
}

async fn get(db: PgSession, id: &KeyId) -> PgResult<Option<KeyRecord>> {
    first(&db, &format!("SELECT {COLUMNS} FROM keys WHERE id = $1"), &[&id.as_str()], read).await
}

async fn list(db: &PgSession, account: Option<&AccountId>) -> PgResult<Vec<KeyRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM keys WHERE $1::text IS NULL OR account = $1 ORDER BY created_at, id");
    all(db, &sql, &[&account.map(AccountId::as_str)], read).await
}

async fn revoke(db: &PgSession, id: &KeyId, now: Timestamp) -> PgResult<bool> {
    let sql = "UPDATE keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
    Ok(change(db, sql, &[&id.as_str(), &micros(now)]).await? == 1)
}

async fn revoke_of_many(db: PgSession, id: &KeyId, now: Timestamp) -> PgResult<RevokeOutcome> {
    db.batch(LOCK).await?;
    let keys = list(&db, None).await?;
    let mut admins = keys.iter().filter(|key| key.is_valid(now) && key.scopes.has(Scope::Admin));
    let is_last = admins.next().is_some_and(|admin| admin.id == *id) && admins.next().is_none();
    if is_last {
        return Ok(RevokeOutcome::LastAdmin);
    }
    Ok(if revoke(&db, id, now).await? { RevokeOutcome::Done } else { RevokeOutcome::NothingToDo })
}

async fn rotate(db: PgSession, old: &KeyId, new: &KeyRecord, now: Timestamp) -> PgResult<bool> {
    if !revoke(&db, old, now).await? {
        return Ok(false);
    }
    create(&db, new).await.map(|()| true)
}

async fn touch(db: PgSession, id: &KeyId, now: Timestamp) -> PgResult<()> {
    let sql = "UPDATE keys SET last_used_at = $2 WHERE id = $1 AND coalesce(last_used_at, 0) < $2";
    change(&db, sql, &[&id.as_str(), &micros(now)]).await.map(drop)
}

async fn any_ever(db: &PgSession) -> PgResult<bool> {
    value(db, "SELECT EXISTS (SELECT 1 FROM keys)", &[]).await
}

fn read(row: &Row) -> PgResult<KeyRecord> {
    let id = text(row, "id")?;
    Ok(KeyRecord {
        id: KeyId::parse(id).ok_or_else(|| unknown(row, "id", id))?,
        account: parsed(row, "account")?,
        name: field(row, "name")?,
        scopes: parsed(row, "scopes")?,
        secret_hash: bytes32(row, "secret_hash")?,
        created_at: time(row, "created_at")?,
        expires_at: time_or_null(row, "expires_at")?,
        revoked_at: time_or_null(row, "revoked_at")?,
        last_used_at: time_or_null(row, "last_used_at")?,
    })
}
