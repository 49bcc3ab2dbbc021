//! The table of renders.

use assay_model::lane::{RenderPart, files};
use assay_model::{Artifact, EpisodeResult, JobId, JobStatus, Record};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;

use super::PostgresRecords;
use super::failure::PgResult;
use super::row::{
    Parameter, all, bigint, change, expect_one, field, first, job_id, json, micros, number, parsed, status, text,
    to_json, unknown, until, value,
};
use super::session::PgSession;
use crate::renders::{DISAPPEARED, MAX_NOTE_BYTES, has_file};
use crate::{
    Lease, MAX_LAPSES, MAX_RENDER_RETRIES, RenderChoice, RenderClaim, RenderFence, RenderRecords, RenderRequest,
    RenderRequestOutcome, RenderReturnOutcome, RenderedEpisode, StoreError, WorkerName,
};

#[async_trait]
impl RenderRecords for PostgresRecords {
    async fn claim_render(
        &self,
        request: RenderRequest<'_>,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<RenderClaim>, StoreError> {
        self.engine.write("claiming a rendering", |db| claim(db, request, now, lease)).await
    }

    async fn leased_render(&self, fence: RenderFence) -> Result<Option<RenderClaim>, StoreError> {
        self.engine.query("reading a claimed rendering", |db| claimed(db, fence)).await
    }

    async fn has_renders(&self) -> Result<bool, StoreError> {
        self.engine.query("looking for renderings", has_queued).await
    }

    async fn heartbeat_render(
        &self,
        fence: RenderFence,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Lease, StoreError> {
        self.engine.write_lease("renewing a lease", |db| heartbeat(db, fence, now, lease)).await
    }

    async fn record_render(
        &self,
        fence: RenderFence,
        files: Vec<Artifact>,
        notes: Vec<String>,
    ) -> Result<bool, StoreError> {
        self.engine.write("recording rendered files", |db| record(db, fence, &files, &notes)).await
    }

    async fn return_render(&self, fence: RenderFence, note: Option<&str>) -> Result<RenderReturnOutcome, StoreError> {
        let note = note.map(|note| assay_model::sanitise(note, MAX_NOTE_BYTES));
        self.engine.write("returning a rendering", |db| hand_back(db, fence, note.as_deref())).await
    }

    async fn renders(&self, job: JobId) -> Result<Vec<RenderedEpisode>, StoreError> {
        self.engine.query("reading rendered files", |db| list(db, job)).await
    }

    async fn request_renders(&self, job: JobId, record: Record) -> Result<RenderRequestOutcome, StoreError> {
        self.engine.write("queueing renderings", |db| request(db, job, record)).await
    }
}

async fn list(db: PgSession, job: JobId) -> PgResult<Vec<RenderedEpisode>> {
    let sql = "SELECT job_id, episode, state, files, notes FROM renders WHERE job_id = $1 ORDER BY episode";
    all(&db, sql, &[&job.0], rendering).await
}

fn rendering(row: &Row) -> PgResult<RenderedEpisode> {
    Ok(RenderedEpisode {
        episode: number(row, "episode")?,
        done: text(row, "state")? == "DONE",
        files: json(row, "files")?,
        notes: json(row, "notes")?,
    })
}

async fn has_queued(db: PgSession) -> PgResult<bool> {
    value(&db, "SELECT EXISTS (SELECT 1 FROM renders WHERE state = 'QUEUED')", &[]).await
}

async fn claim(
    db: PgSession,
    RenderRequest { worker, choice, max_held }: RenderRequest<'_>,
    now: Timestamp,
    lease: SignedDuration,
) -> PgResult<Option<RenderClaim>> {
    if max_held < u32::MAX {
        let sql = "SELECT count(*) FROM renders WHERE state = 'LEASED' AND worker = $1";
        if value::<i64>(&db, sql, &[&worker]).await? >= i64::from(max_held) {
            return Ok(None);
        }
    }
    // A separate text for each choice, so that each has a plan of its own.
    let (admitted, job) = match choice {
        RenderChoice::Any => ("$3::uuid IS NULL", None),
        RenderChoice::Job(job) => ("job_id = $3", Some(job.0)),
        RenderChoice::Verifications => {
            ("$3::uuid IS NULL AND (SELECT kind FROM jobs WHERE jobs.job_id = renders.job_id) <> 'submission'", None)
        }
        RenderChoice::Arena => {
            ("$3::uuid IS NULL AND (SELECT kind FROM jobs WHERE jobs.job_id = renders.job_id) = 'submission'", None)
        }
    };
    let sql = format!(
        "WITH next AS (
             SELECT job_id, episode FROM renders WHERE state = 'QUEUED' AND {admitted}
             ORDER BY failures, part, later, job_id, episode LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
         ), claimed AS (
             UPDATE renders SET state = 'LEASED', attempt = attempt + 1, worker = $1, lease_until = $2
             FROM next WHERE renders.job_id = next.job_id AND renders.episode = next.episode
             RETURNING renders.job_id, renders.episode, part, attempt, files
         )
         SELECT claimed.job_id, claimed.episode, part, claimed.attempt, files, account, header, result
         FROM claimed JOIN jobs USING (job_id) JOIN episodes USING (job_id, episode)"
    );
    first(&db, &sql, &[&worker, &until(now, lease), &job], render_claim).await
}

/// Returns a part with this claim, as long as its holder holds it.
async fn claimed(db: PgSession, fence: RenderFence) -> PgResult<Option<RenderClaim>> {
    let sql = "SELECT renders.job_id, renders.episode, part, renders.attempt, files, account, header, result
               FROM renders JOIN jobs USING (job_id) JOIN episodes USING (job_id, episode)
               WHERE renders.job_id = $1 AND renders.episode = $2 AND renders.attempt = $3
                     AND renders.state = 'LEASED'";
    let (episode, attempt) = (i64::from(fence.episode), i64::from(fence.attempt));
    first(&db, sql, &[&fence.job_id.0, &episode, &attempt], render_claim).await
}

fn render_claim(row: &Row) -> PgResult<RenderClaim> {
    let fence = RenderFence {
        job_id: job_id(row, "job_id")?,
        episode: number(row, "episode")?,
        attempt: number(row, "attempt")?,
    };
    let (header, result) = (json(row, "header")?, json(row, "result")?);
    let account = parsed(row, "account")?;
    Ok(RenderClaim { fence, part: part(row)?, account, header, result, drawn: json(row, "files")? })
}

fn part(row: &Row) -> PgResult<RenderPart> {
    match text(row, "part")? {
        "LOG" => Ok(RenderPart::Log),
        "VIDEO" => Ok(RenderPart::Video),
        other => Err(unknown(row, "part", other).into()),
    }
}

async fn heartbeat(db: PgSession, fence: RenderFence, now: Timestamp, lease: SignedDuration) -> PgResult<Lease> {
    let sql = "UPDATE renders SET lease_until = greatest(lease_until, $4)
               WHERE job_id = $1 AND episode = $2 AND state = 'LEASED' AND attempt = $3";
    let (episode, attempt) = (i64::from(fence.episode), i64::from(fence.attempt));
    let changed = change(&db, sql, &[&fence.job_id.0, &episode, &attempt, &until(now, lease)]).await?;
    Ok(if changed == 1 { Lease::Held } else { Lease::Lost })
}

/// A claimed row of the table, which is locked.
struct LockedRender {
    part: RenderPart,
    files: Vec<Artifact>,
    notes: Vec<String>,
    failures: u32,
}

/// Locks and reads the claimed row; `None` if the claim is no longer valid.
async fn held(db: &PgSession, fence: RenderFence) -> PgResult<Option<LockedRender>> {
    let sql = "SELECT job_id, part, files, notes, failures FROM renders
               WHERE job_id = $1 AND episode = $2 AND state = 'LEASED' AND attempt = $3 FOR NO KEY UPDATE";
    let (episode, attempt) = (i64::from(fence.episode), i64::from(fence.attempt));
    first(db, sql, &[&fence.job_id.0, &episode, &attempt], |row| {
        Ok(LockedRender {
            part: part(row)?,
            files: json(row, "files")?,
            notes: json(row, "notes")?,
            failures: number(row, "failures")?,
        })
    })
    .await
}

async fn record(db: PgSession, fence: RenderFence, files: &[Artifact], notes: &[String]) -> PgResult<bool> {
    let id = fence.job_id.0;
    // The job first, as everywhere.
    first(&db, "SELECT job_id FROM jobs WHERE job_id = $1 FOR NO KEY UPDATE", &[&id], |_| Ok(())).await?;
    let Some(LockedRender { part, files: mut known, notes: mut noted, .. }) = held(&db, fence).await? else {
        return Ok(false);
    };
    known.extend_from_slice(files);
    noted.extend_from_slice(notes);
    finish_part(&db, (fence.job_id, fence.episode), part, (&known, &noted)).await?;
    let stored: u64 = files.iter().map(|file| file.size_bytes).sum();
    let sql = "UPDATE jobs SET evidence_bytes = evidence_bytes + $2 WHERE job_id = $1 AND evidence_removed_at IS NULL";
    change(&db, sql, &[&id, &bigint(stored)]).await?;
    Ok(true)
}

/// Ends a part. The log is followed by the video; the video is the last part.
async fn finish_part(
    db: &PgSession,
    (job, episode): (JobId, u32),
    part: RenderPart,
    (files, notes): (&[Artifact], &[String]),
) -> PgResult<()> {
    let state = if part == RenderPart::Log { "QUEUED" } else { "DONE" };
    let sql = "UPDATE renders SET state = $3, part = 'VIDEO', failures = 0, lapses = 0, worker = NULL,
                                  lease_until = NULL, files = $4, notes = $5
               WHERE job_id = $1 AND episode = $2 AND state = 'LEASED'";
    let values: [Parameter<'_>; 5] = [&job.0, &i64::from(episode), &state, &to_json(&files)?, &to_json(&notes)?];
    expect_one(change(db, sql, &values).await?, "a claim that was just locked")
}

async fn hand_back(db: PgSession, fence: RenderFence, note: Option<&str>) -> PgResult<RenderReturnOutcome> {
    let Some(LockedRender { part, files, mut notes, failures }) = held(&db, fence).await? else {
        return Ok(RenderReturnOutcome::Fenced);
    };
    if let Some(note) = note.filter(|_| failures >= MAX_RENDER_RETRIES) {
        notes.push(note.to_owned());
        finish_part(&db, (fence.job_id, fence.episode), part, (&files, &notes)).await?;
        return Ok(RenderReturnOutcome::GivenUp);
    }
    let sql = "UPDATE renders SET state = 'QUEUED', worker = NULL, lease_until = NULL, failures = failures + $3
               WHERE job_id = $1 AND episode = $2 AND state = 'LEASED'";
    let values: [Parameter<'_>; 3] = [&fence.job_id.0, &i64::from(fence.episode), &i64::from(note.is_some())];
    expect_one(change(&db, sql, &values).await?, "a claim that was just locked")?;
    Ok(RenderReturnOutcome::Requeued)
}

/// Queues the missing parts of a COMPLETED job.
async fn request(db: PgSession, job: JobId, record: Record) -> PgResult<RenderRequestOutcome> {
    let sql = "SELECT job_id, status, evidence_removed_at IS NOT NULL AS is_removed FROM jobs WHERE job_id = $1
               FOR NO KEY UPDATE";
    match first(&db, sql, &[&job.0], |row| Ok((status(row)?, field::<bool>(row, "is_removed")?))).await? {
        None => return Ok(RenderRequestOutcome::NotFound),
        Some((status, _)) if status != JobStatus::Completed => return Ok(RenderRequestOutcome::NotCompleted),
        Some((_, true)) => return Ok(RenderRequestOutcome::NoEvidence),
        Some((_, false)) => {}
    }
    let results =
        all(&db, "SELECT job_id, result FROM episodes WHERE job_id = $1 ORDER BY episode", &[&job.0], |row| {
            json::<EpisodeResult>(row, "result")
        })
        .await;
    let mut queued = 0;
    for result in results?.iter().filter(|result| record.wants(result)) {
        if has_file(&result.evidence, files::TRACE) && request_episode(&db, job, result).await? {
            queued += 1;
        }
    }
    Ok(RenderRequestOutcome::Queued(queued))
}

/// Queues the missing parts of an episode. Returns false if none is missing, or they are queued already.
async fn request_episode(db: &PgSession, job: JobId, result: &EpisodeResult) -> PgResult<bool> {
    let episode = i64::from(result.episode);
    let sql = "SELECT job_id, episode, state, files, notes FROM renders WHERE job_id = $1 AND episode = $2 FOR UPDATE";
    let known = first(db, sql, &[&job.0, &episode], rendering).await?;
    if known.as_ref().is_some_and(|known| !known.done) {
        return Ok(false);
    }
    let mut drawn = known.map(|known| known.files).unwrap_or_default();
    let kept = to_json(&drawn)?;
    drawn.extend_from_slice(&result.evidence);
    if has_file(&drawn, files::VIDEO) {
        return Ok(false);
    }
    let part = if has_file(&drawn, files::LOG) { "VIDEO" } else { "LOG" };
    let sql = "INSERT INTO renders (job_id, episode, part, state, later, files) VALUES ($1, $2, $3, 'QUEUED', $4, $5)
               ON CONFLICT (job_id, episode) DO UPDATE SET part = excluded.part, state = 'QUEUED', failures = 0,
                                                           lapses = 0, notes = '[]'";
    change(db, sql, &[&job.0, &episode, &part, &result.violations.is_empty(), &kept]).await?;
    Ok(true)
}

/// Queues the entries of a job that has its verdict.
pub(super) async fn queue(db: &PgSession, job: JobId) -> PgResult<()> {
    change(db, "UPDATE renders SET state = 'QUEUED' WHERE job_id = $1 AND state = 'WAITING'", &[&job.0]).await.map(drop)
}

/// Deletes the entries of a job that ended without a verdict.
pub(super) async fn forget(db: &PgSession, job: JobId) -> PgResult<()> {
    change(db, "DELETE FROM renders WHERE job_id = $1", &[&job.0]).await.map(drop)
}

/// Deletes the entries of an erased job and of its rerun.
pub(super) async fn erase(db: &PgSession, job: JobId) -> PgResult<()> {
    let sql = "DELETE FROM renders WHERE job_id IN (SELECT job_id FROM jobs WHERE job_id = $1 OR rerun_of = $1)";
    change(db, sql, &[&job.0]).await.map(drop)
}

/// Deletes the unfinished entries of a job whose recordings are removed.
pub(super) async fn stop(db: &PgSession, job: JobId) -> PgResult<()> {
    change(db, "DELETE FROM renders WHERE job_id = $1 AND state <> 'DONE'", &[&job.0]).await.map(drop)
}

/// Requeues the entries that a worker on another host holds; its leases are void.
pub(super) async fn requeue(db: &PgSession, worker: &WorkerName) -> PgResult<()> {
    // In one order, as all who lock several entries.
    let sql = "WITH held AS (SELECT job_id, episode FROM renders WHERE state = 'LEASED' AND worker = $1
                             ORDER BY job_id, episode FOR NO KEY UPDATE)
               UPDATE renders SET state = 'QUEUED', worker = NULL, lease_until = NULL
               FROM held WHERE renders.job_id = held.job_id AND renders.episode = held.episode";
    change(db, sql, &[&worker.lease_holder()]).await.map(drop)
}

/// Requeues entries whose leases have expired.
pub(super) async fn reconcile(db: PgSession, now: Timestamp) -> PgResult<()> {
    // Rows that are locked are being renewed, returned or recorded at this moment.
    let sql = "SELECT job_id, episode, part, lapses, files, notes FROM renders
               WHERE state = 'LEASED' AND lease_until <= $1 ORDER BY job_id, episode FOR NO KEY UPDATE SKIP LOCKED";
    let late = all(&db, sql, &[&micros(now)], |row| {
        let place = (job_id(row, "job_id")?, number::<u32>(row, "episode")?);
        let texts = (json::<Vec<Artifact>>(row, "files")?, json::<Vec<String>>(row, "notes")?);
        Ok((place, number::<u32>(row, "lapses")?, part(row)?, texts))
    })
    .await;
    for (place, lapses, part, (files, mut notes)) in late? {
        if lapses >= MAX_LAPSES {
            notes.push(DISAPPEARED.to_owned());
            finish_part(&db, place, part, (&files, &notes)).await?;
            continue;
        }
        let sql = "UPDATE renders SET state = 'QUEUED', worker = NULL, lease_until = NULL, lapses = lapses + 1
                   WHERE job_id = $1 AND episode = $2";
        change(&db, sql, &[&place.0.0, &i64::from(place.1)]).await?;
    }
    Ok(())
}
