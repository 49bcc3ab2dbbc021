//! The table of sessions.

use async_trait::async_trait;
use tokio_postgres::Row;

use super::PostgresRecords;
use super::failure::PgResult;
use super::row::{bytes32, change, first, micros, text, time, unknown};
use super::session::PgSession;
use crate::{KeyId, MAX_SESSIONS_OF_KEY, SessionHash, SessionRecord, SessionRecords, StoreError};

#[async_trait]
impl SessionRecords for PostgresRecords {
    async fn create_session(&self, session: SessionRecord) -> Result<(), StoreError> {
        self.engine.write("signing in", |db| create(db, &session)).await
    }

    async fn session(&self, hash: &SessionHash) -> Result<Option<SessionRecord>, StoreError> {
        self.engine.query("reading a session", |db| get(db, hash)).await
    }

    async fn end_session(&self, hash: &SessionHash) -> Result<bool, StoreError> {
        self.engine.write("signing out", |db| end(db, hash)).await
    }
}

async fn create(db: PgSession, session: &SessionRecord) -> PgResult<()> {
    let (key, created) = (session.key.as_str(), micros(session.created_at));
    // The lock counts the sessions of a key exactly.
    first(&db, "SELECT id FROM keys WHERE id = $1 FOR NO KEY UPDATE", &[&key], |_| Ok(())).await?;
    change(&db, "DELETE FROM sessions WHERE expires_at <= $1", &[&created]).await?;
    let sql = "INSERT INTO sessions (hash, key_id, created_at, expires_at) VALUES ($1, $2, $3, $4)";
    change(&db, sql, &[&session.hash.as_slice(), &key, &created, &micros(session.expires_at)]).await?;
    let sql = "DELETE FROM sessions WHERE hash IN
                   (SELECT hash FROM sessions WHERE key_id = $1 ORDER BY created_at DESC OFFSET $2)";
    change(&db, sql, &[&key, &i64::from(MAX_SESSIONS_OF_KEY)]).await.map(drop)
}

async fn get(db: PgSession, hash: &SessionHash) -> PgResult<Option<SessionRecord>> {
    let sql = "SELECT key_id, hash, created_at, expires_at FROM sessions WHERE hash = $1";
    first(&db, sql, &[&hash.as_slice()], read).await
}

async fn end(db: PgSession, hash: &SessionHash) -> PgResult<bool> {
    Ok(change(&db, "DELETE FROM sessions WHERE hash = $1", &[&hash.as_slice()]).await? == 1)
}

fn read(row: &Row) -> PgResult<SessionRecord> {
    let key = text(row, "key_id")?;
    Ok(SessionRecord {
        hash: bytes32(row, "hash")?,
        key: KeyId::parse(key).ok_or_else(|| unknown(row, "key_id", key))?,
        created_at: time(row, "created_at")?,
        expires_at: time(row, "expires_at")?,
    })
}
