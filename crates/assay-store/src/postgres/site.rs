//! The tables of the processes that share the records. Nothing waits for the disk here: these tables are not logged.

use std::collections::HashMap;
use std::time::Duration;

use assay_model::{JobId, Sha256Digest};
use async_trait::async_trait;
use uuid::Uuid;

use super::PostgresRecords;
use super::failure::PgResult;
use super::row::{all, bytes32, change, field, first, number, parsed, text, unknown, value};
use super::session::PgSession;
use crate::{ConnectionTokenRecord, KeyId, RequestCounter, SITE_LEASE, SiteExchange, SiteRecords, StoreError};

/// Time after which a process that reported nothing is forgotten, in seconds.
const FORGOTTEN_S: f64 = 60.0;

#[async_trait]
impl SiteRecords for PostgresRecords {
    async fn site_id(&self) -> Result<Uuid, StoreError> {
        self.engine.query("reading the site", async |db| value(&db, "SELECT id FROM site", &[]).await).await
    }

    async fn exchange(&self, process: Uuid, bulletin: &str) -> Result<SiteExchange, StoreError> {
        self.engine.write_lease("exchanging state with the other servers", |db| exchange(db, process, bulletin)).await
    }

    async fn leave_site(&self, process: Uuid) -> Result<(), StoreError> {
        self.engine.write_lease("leaving the other servers", |db| leave(db, process)).await
    }

    async fn count_request(&self, counter: &RequestCounter, limit: u32) -> Result<Option<u32>, StoreError> {
        self.engine.write_lease("counting a request", |db| count_request(db, counter, limit)).await
    }

    async fn put_connection_token(
        &self,
        job: JobId,
        token: &ConnectionTokenRecord,
        lifetime: Duration,
        limit: u32,
    ) -> Result<bool, StoreError> {
        let put = |db| put_token(db, job, token, (lifetime, limit));
        self.engine.write_lease("storing a token for a connection", put).await
    }

    async fn connection_token(&self, job: JobId) -> Result<Option<ConnectionTokenRecord>, StoreError> {
        self.engine.query("reading a token for a connection", async |db| token(&db, job).await).await
    }

    async fn machine_of(&self, job: JobId) -> Result<Option<Sha256Digest>, StoreError> {
        let sql = "SELECT machine FROM jobs WHERE job_id = $1 AND machine IS NOT NULL
                   AND EXISTS (SELECT 1 FROM episodes WHERE episodes.job_id = jobs.job_id)";
        let machine = async |db| first(&db, sql, &[&job.0], |row| parsed(row, "machine")).await;
        self.engine.query("reading a job's machine", machine).await
    }

    async fn redeem_connection_token(&self, job: JobId, hash: &[u8; 32]) -> Result<bool, StoreError> {
        self.engine.write_lease("redeeming a token for a connection", |db| redeem_token(db, job, hash)).await
    }

    async fn add_requests(&self, counts: &[(RequestCounter, u32)]) -> Result<Vec<u32>, StoreError> {
        self.engine.write_lease("counting requests", |db| add_requests(db, counts)).await
    }
}

async fn exchange(db: PgSession, process: Uuid, bulletin: &str) -> PgResult<SiteExchange> {
    let sql = "INSERT INTO server_processes (process, bulletin, met_at) VALUES ($1, $2, clock_timestamp())
               ON CONFLICT (process) DO UPDATE SET bulletin = excluded.bulletin, met_at = excluded.met_at";
    change(&db, sql, &[&process, &bulletin]).await?;
    let sql = "INSERT INTO site_leader AS leader (process, leads_until)
               VALUES ($1, clock_timestamp() + make_interval(secs => $2))
               ON CONFLICT (only_row) DO UPDATE SET process = excluded.process, leads_until = excluded.leads_until
               WHERE leader.process = excluded.process OR leader.leads_until < clock_timestamp()";
    let leads = change(&db, sql, &[&process, &SITE_LEASE.as_secs_f64()]).await? == 1;
    if leads {
        let sql = "DELETE FROM server_processes WHERE met_at < clock_timestamp() - make_interval(secs => $1)";
        change(&db, sql, &[&FORGOTTEN_S]).await?;
    }
    let sql = "SELECT bulletin FROM server_processes
               WHERE process <> $1 AND met_at > clock_timestamp() - make_interval(secs => $2) ORDER BY process";
    let lease = SITE_LEASE.as_secs_f64();
    let others = all(&db, sql, &[&process, &lease], |row| Ok(text(row, "bulletin")?.to_owned())).await?;
    Ok(SiteExchange { leads, others })
}

async fn leave(db: PgSession, process: Uuid) -> PgResult<()> {
    change(&db, "DELETE FROM server_processes WHERE process = $1", &[&process]).await?;
    change(&db, "DELETE FROM site_leader WHERE process = $1", &[&process]).await.map(drop)
}

async fn count_request(db: PgSession, counter: &RequestCounter, limit: u32) -> PgResult<Option<u32>> {
    if limit == 0 {
        return Ok(None);
    }
    let sql = "INSERT INTO request_counts AS known (name, counted_window, requests) VALUES ($1, $2, 1)
               ON CONFLICT (name, counted_window) DO UPDATE SET requests = known.requests + 1
               WHERE known.requests < $3 RETURNING requests";
    let name = counter.name.as_str();
    first(&db, sql, &[&name, &counter.window, &i64::from(limit)], |row| number(row, "requests")).await
}

async fn put_token(
    db: PgSession,
    job: JobId,
    token: &ConnectionTokenRecord,
    (lifetime, limit): (Duration, u32),
) -> PgResult<bool> {
    change(&db, "DELETE FROM connection_tokens WHERE expires_at <= clock_timestamp()", &[]).await?;
    let sql = "INSERT INTO connection_tokens (job_id, hash, key_id, session, expires_at)
               SELECT $1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5)
               WHERE (SELECT count(*) FROM connection_tokens WHERE job_id <> $1) < $6
               ON CONFLICT (job_id) DO UPDATE SET hash = excluded.hash, key_id = excluded.key_id,
                   session = excluded.session, expires_at = excluded.expires_at";
    let (hash, session) = (token.hash.as_slice(), token.session.as_ref().map(<[u8; 32]>::as_slice));
    let (lifetime, limit) = (lifetime.as_secs_f64(), i64::from(limit));
    Ok(change(&db, sql, &[&job.0, &hash, &token.key.as_str(), &session, &lifetime, &limit]).await? == 1)
}

async fn token(db: &PgSession, job: JobId) -> PgResult<Option<ConnectionTokenRecord>> {
    let sql = "SELECT hash, key_id, session FROM connection_tokens
               WHERE job_id = $1 AND expires_at > clock_timestamp()";
    first(db, sql, &[&job.0], |row| {
        let key = text(row, "key_id")?;
        let is_of_session = field::<Option<&[u8]>>(row, "session")?.is_some();
        Ok(ConnectionTokenRecord {
            hash: bytes32(row, "hash")?,
            key: KeyId::parse(key).ok_or_else(|| unknown(row, "key_id", key))?,
            session: is_of_session.then(|| bytes32(row, "session")).transpose()?,
        })
    })
    .await
}

async fn redeem_token(db: PgSession, job: JobId, hash: &[u8; 32]) -> PgResult<bool> {
    let sql = "DELETE FROM connection_tokens WHERE job_id = $1 AND hash = $2 AND expires_at > clock_timestamp()";
    Ok(change(&db, sql, &[&job.0, &hash.as_slice()]).await? == 1)
}

async fn add_requests(db: PgSession, counts: &[(RequestCounter, u32)]) -> PgResult<Vec<u32>> {
    let names: Vec<&str> = counts.iter().map(|(counter, _)| counter.name.as_str()).collect();
    let windows: Vec<i64> = counts.iter().map(|(counter, _)| counter.window).collect();
    let added: Vec<i64> = counts.iter().map(|(_, requests)| i64::from(*requests)).collect();
    let Some(oldest) = windows.iter().min() else { return Ok(Vec::new()) };
    change(&db, "DELETE FROM request_counts WHERE counted_window < $1", &[oldest]).await?;
    // Rows are locked in one order, so that processes never wait for each other in a circle.
    let sql = "INSERT INTO request_counts AS known (name, counted_window, requests)
               SELECT name, counted_window, requests
               FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS added (name, counted_window, requests)
               ORDER BY name, counted_window
               ON CONFLICT (name, counted_window) DO UPDATE SET requests = known.requests + excluded.requests
               RETURNING name, counted_window, requests";
    let totals = all(&db, sql, &[&names, &windows, &added], |row| {
        let counter = RequestCounter { name: text(row, "name")?.to_owned(), window: field(row, "counted_window")? };
        Ok((counter, number(row, "requests")?))
    })
    .await?;
    let totals: HashMap<RequestCounter, u32> = totals.into_iter().collect();
    Ok(counts.iter().map(|(counter, _)| totals.get(counter).copied().unwrap_or(0)).collect())
}
