//! The table of sessions.

use async_trait::async_trait;
use rusqlite::{Connection, Row};

use super::SqliteRecords;
use super::failure::{SqlFailure, SqlResult};
use super::row::{change, first, micros, time};
use crate::{KeyId, MAX_SESSIONS_OF_KEY, SessionHash, SessionRecord, SessionRecords, StoreError};

#[async_trait]
impl SessionRecords for SqliteRecords {
    async fn create_session(&self, session: SessionRecord) -> Result<(), StoreError> {
        self.write("signing in", move |db| create(db, &session)).await
    }

    async fn session(&self, hash: &SessionHash) -> Result<Option<SessionRecord>, StoreError> {
        let sql = "SELECT key_id, hash, created_at, expires_at FROM sessions WHERE hash = ?1";
        self.query("reading a session", |db| first(db, sql, [hash], read))
    }

    async fn end_session(&self, hash: &SessionHash) -> Result<bool, StoreError> {
        let hash = *hash;
        let sql = "DELETE FROM sessions WHERE hash = ?1";
        self.write("signing out", move |db| Ok(change(db, sql, [hash])? == 1)).await
    }
}

fn create(db: &Connection, session: &SessionRecord) -> SqlResult<()> {
    let (key, created) = (session.key.as_str(), micros(session.created_at));
    change(db, "DELETE FROM sessions WHERE expires_at <= ?1", [created])?;
    let sql = "INSERT INTO sessions (hash, key_id, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)";
    change(db, sql, (session.hash, key, created, micros(session.expires_at)))?;
    let sql = "DELETE FROM sessions WHERE hash IN
                   (SELECT hash FROM sessions WHERE key_id = ?1 ORDER BY created_at DESC LIMIT -1 OFFSET ?2)";
    change(db, sql, (key, MAX_SESSIONS_OF_KEY)).map(drop)
}

fn read(row: &Row<'_>) -> SqlResult<SessionRecord> {
    let id: String = row.get("key_id")?;
    let key = KeyId::parse(&id)
        .ok_or_else(|| SqlFailure::Store(StoreError::corrupt(&id, "key_id", std::io::Error::other("not a key id"))))?;
    Ok(SessionRecord {
        hash: row.get("hash")?,
        key,
        created_at: time(row, "created_at")?,
        expires_at: time(row, "expires_at")?,
    })
}
