//! The table of renders.

use assay_model::lane::{RenderPart, files};
use assay_model::{Artifact, EpisodeResult, JobHeader, JobId, JobStatus, Record};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, Row};

use super::SqliteRecords;
use super::failure::SqlResult;
use super::row::{all, change, expect_one, first, json, micros, name, parsed, status, text, to_json, until, value};
use crate::renders::{DISAPPEARED, MAX_NOTE_BYTES, has_file, is_rendered_later};
use crate::{
    Lease, MAX_LAPSES, MAX_RENDER_RETRIES, RenderChoice, RenderClaim, RenderFence, RenderRecords, RenderRequest,
    RenderRequestOutcome, RenderReturnOutcome, RenderedEpisode, StoreError, WorkerName,
};

#[async_trait]
impl RenderRecords for SqliteRecords {
    async fn claim_render(
        &self,
        request: RenderRequest<'_>,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<RenderClaim>, StoreError> {
        let (worker, choice, most) = (request.worker.to_owned(), request.choice, request.max_held);
        self.write_lease("claiming a rendering", move |db| claim(db, (&worker, most), choice, now, lease)).await
    }

    async fn leased_render(&self, fence: RenderFence) -> Result<Option<RenderClaim>, StoreError> {
        self.query("reading a claimed rendering", |db| claimed(db, fence))
    }

    async fn has_renders(&self) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM renders WHERE state = 'QUEUED')";
        self.query("looking for renderings", |db| value(db, sql, []))
    }

    async fn heartbeat_render(
        &self,
        fence: RenderFence,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Lease, StoreError> {
        self.write_lease("renewing a lease", move |db| heartbeat(db, fence, now, lease)).await
    }

    async fn record_render(
        &self,
        fence: RenderFence,
        files: Vec<Artifact>,
        notes: Vec<String>,
    ) -> Result<bool, StoreError> {
        self.write("recording rendered files", move |db| record(db, fence, &files, &notes)).await
    }

    async fn return_render(&self, fence: RenderFence, note: Option<&str>) -> Result<RenderReturnOutcome, StoreError> {
        let note = note.map(|note| assay_model::sanitise(note, MAX_NOTE_BYTES));
        self.write("returning a rendering", move |db| hand_back(db, fence, note.as_deref())).await
    }

    async fn renders(&self, job: JobId) -> Result<Vec<RenderedEpisode>, StoreError> {
        let sql = "SELECT job_id, episode, state, files, notes FROM renders WHERE job_id = ?1 ORDER BY episode";
        self.query("reading rendered files", |db| all(db, sql, [job.to_string()], rendering))
    }

    async fn request_renders(&self, job: JobId, record: Record) -> Result<RenderRequestOutcome, StoreError> {
        self.write("queueing renderings", move |db| request(db, job, record)).await
    }
}

fn rendering(row: &Row<'_>) -> SqlResult<RenderedEpisode> {
    Ok(RenderedEpisode {
        episode: row.get("episode")?,
        done: text(row, "state")? == "DONE",
        files: json(row, "files")?,
        notes: json(row, "notes")?,
    })
}

fn claim(
    db: &Connection,
    (worker, most): (&str, u32),
    choice: RenderChoice,
    now: Timestamp,
    lease: SignedDuration,
) -> SqlResult<Option<RenderClaim>> {
    if most < u32::MAX {
        let held: u32 = value(db, "SELECT count(*) FROM renders WHERE state = 'LEASED' AND worker = ?1", [worker])?;
        if held >= most {
            return Ok(None);
        }
    }
    let place = |row: &Row<'_>| Ok((parsed::<JobId>(row, "job_id")?, row.get::<_, u32>("episode")?));
    let job = match choice {
        RenderChoice::Job(job) => Some(job.to_string()),
        RenderChoice::Any | RenderChoice::Verifications | RenderChoice::Arena => None,
    };
    // A separate text for each choice, so that each has a plan of its own.
    let admitted = match choice {
        RenderChoice::Any => "?1 IS NULL",
        RenderChoice::Job(_) => "job_id = ?1",
        RenderChoice::Verifications => {
            "?1 IS NULL AND (SELECT kind FROM jobs WHERE jobs.job_id = renders.job_id) <> 'submission'"
        }
        RenderChoice::Arena => {
            "?1 IS NULL AND (SELECT kind FROM jobs WHERE jobs.job_id = renders.job_id) = 'submission'"
        }
    };
    let sql = format!(
        "SELECT job_id, episode FROM renders WHERE state = 'QUEUED' AND {admitted}
         ORDER BY failures, part, later, job_id, episode LIMIT 1"
    );
    let Some((job_id, episode)) = first(db, &sql, [job], place)? else { return Ok(None) };
    let id = job_id.to_string();
    let sql = "UPDATE renders SET state = 'LEASED', attempt = attempt + 1, worker = ?3, lease_until = ?4
               WHERE job_id = ?1 AND episode = ?2 AND state = 'QUEUED'";
    expect_one(change(db, sql, (&id, episode, worker, until(now, lease)))?, "a queued rendering")?;
    let attempt = value(db, "SELECT attempt FROM renders WHERE job_id = ?1 AND episode = ?2", (&id, episode))?;
    claimed(db, RenderFence { job_id, episode, attempt })
}

/// Returns a part with this claim, as long as its holder holds it.
fn claimed(db: &Connection, fence: RenderFence) -> SqlResult<Option<RenderClaim>> {
    let sql = "SELECT r.job_id, r.part, r.files, j.account, j.header, e.result
               FROM renders AS r JOIN jobs AS j USING (job_id) JOIN episodes AS e USING (job_id, episode)
               WHERE r.job_id = ?1 AND r.episode = ?2 AND r.attempt = ?3 AND r.state = 'LEASED'";
    first(db, sql, (fence.job_id.to_string(), fence.episode, fence.attempt), |row| {
        Ok(RenderClaim {
            fence,
            part: part(row)?,
            account: parsed(row, "account")?,
            header: json(row, "header")?,
            result: json(row, "result")?,
            drawn: json(row, "files")?,
        })
    })
}

fn part(row: &Row<'_>) -> SqlResult<RenderPart> {
    match text(row, "part")? {
        "LOG" => Ok(RenderPart::Log),
        "VIDEO" => Ok(RenderPart::Video),
        other => Err(StoreError::corrupt(name(row), "part", std::io::Error::other(format!("{other:?}"))).into()),
    }
}

fn heartbeat(db: &Connection, fence: RenderFence, now: Timestamp, lease: SignedDuration) -> SqlResult<Lease> {
    let sql = "UPDATE renders SET lease_until = max(lease_until, ?4)
               WHERE job_id = ?1 AND episode = ?2 AND state = 'LEASED' AND attempt = ?3";
    let changed = change(db, sql, (fence.job_id.to_string(), fence.episode, fence.attempt, until(now, lease)))?;
    Ok(if changed == 1 { Lease::Held } else { Lease::Lost })
}

/// A claimed row of the table.
struct ClaimedRender {
    part: RenderPart,
    files: Vec<Artifact>,
    notes: Vec<String>,
    failures: u32,
}

/// Reads the claimed row; `None` if the claim is no longer valid.
fn held(db: &Connection, fence: RenderFence) -> SqlResult<Option<ClaimedRender>> {
    let sql = "SELECT job_id, part, files, notes, failures FROM renders
               WHERE job_id = ?1 AND episode = ?2 AND state = 'LEASED' AND attempt = ?3";
    first(db, sql, (fence.job_id.to_string(), fence.episode, fence.attempt), |row| {
        Ok(ClaimedRender {
            part: part(row)?,
            files: json(row, "files")?,
            notes: json(row, "notes")?,
            failures: row.get("failures")?,
        })
    })
}

fn record(db: &Connection, fence: RenderFence, files: &[Artifact], notes: &[String]) -> SqlResult<bool> {
    let Some(ClaimedRender { part, files: mut known, notes: mut noted, .. }) = held(db, fence)? else {
        return Ok(false);
    };
    known.extend_from_slice(files);
    noted.extend_from_slice(notes);
    finish_part(db, (fence.job_id, fence.episode), part, &known, &noted)?;
    let stored: u64 = files.iter().map(|file| file.size_bytes).sum();
    let sql = "UPDATE jobs SET evidence_bytes = evidence_bytes + ?2 WHERE job_id = ?1 AND evidence_removed_at IS NULL";
    change(db, sql, (fence.job_id.to_string(), i64::try_from(stored).unwrap_or(i64::MAX)))?;
    Ok(true)
}

/// Ends a part. The log is followed by the video; the video is the last part.
fn finish_part(
    db: &Connection,
    (job, episode): (JobId, u32),
    part: RenderPart,
    files: &[Artifact],
    notes: &[String],
) -> SqlResult<()> {
    let state = if part == RenderPart::Log { "QUEUED" } else { "DONE" };
    let sql = "UPDATE renders SET state = ?3, part = 'VIDEO', failures = 0, lapses = 0, worker = NULL,
                                  lease_until = NULL, files = ?4, notes = ?5
               WHERE job_id = ?1 AND episode = ?2 AND state = 'LEASED'";
    let values = (job.to_string(), episode, state, to_json(&files)?, to_json(&notes)?);
    expect_one(change(db, sql, values)?, "a claim that was just read")
}

fn hand_back(db: &Connection, fence: RenderFence, note: Option<&str>) -> SqlResult<RenderReturnOutcome> {
    let Some(ClaimedRender { part, files, mut notes, failures }) = held(db, fence)? else {
        return Ok(RenderReturnOutcome::Fenced);
    };
    if let Some(note) = note.filter(|_| failures >= MAX_RENDER_RETRIES) {
        notes.push(note.to_owned());
        finish_part(db, (fence.job_id, fence.episode), part, &files, &notes)?;
        return Ok(RenderReturnOutcome::GivenUp);
    }
    let sql = "UPDATE renders SET state = 'QUEUED', worker = NULL, lease_until = NULL, failures = failures + ?4
               WHERE job_id = ?1 AND episode = ?2 AND state = 'LEASED' AND attempt = ?3";
    let id = fence.job_id.to_string();
    let changed = change(db, sql, (id, fence.episode, fence.attempt, u32::from(note.is_some())))?;
    expect_one(changed, "a claim that was just read")?;
    Ok(RenderReturnOutcome::Requeued)
}

/// Queues the missing parts of a COMPLETED job.
fn request(db: &Connection, job: JobId, record: Record) -> SqlResult<RenderRequestOutcome> {
    let id = job.to_string();
    let sql = "SELECT job_id, status, evidence_removed_at IS NOT NULL FROM jobs WHERE job_id = ?1";
    match first(db, sql, [&id], |row| Ok((status(row)?, row.get::<_, bool>(2)?)))? {
        None => return Ok(RenderRequestOutcome::NotFound),
        Some((status, _)) if status != JobStatus::Completed => return Ok(RenderRequestOutcome::NotCompleted),
        Some((_, true)) => return Ok(RenderRequestOutcome::NoEvidence),
        Some((_, false)) => {}
    }
    let results = all(db, "SELECT job_id, result FROM episodes WHERE job_id = ?1", [&id], |row| {
        json::<EpisodeResult>(row, "result")
    })?;
    let mut queued = 0;
    for result in results.iter().filter(|result| record.wants(result) && has_file(&result.evidence, files::TRACE)) {
        let sql = "SELECT job_id, episode, state, files, notes FROM renders WHERE job_id = ?1 AND episode = ?2";
        let known = first(db, sql, (&id, result.episode), rendering)?;
        if known.as_ref().is_some_and(|known| !known.done) {
            continue;
        }
        let mut drawn = known.map(|known| known.files).unwrap_or_default();
        let kept = to_json(&drawn)?;
        drawn.extend_from_slice(&result.evidence);
        if has_file(&drawn, files::VIDEO) {
            continue;
        }
        let part = if has_file(&drawn, files::LOG) { "VIDEO" } else { "LOG" };
        let sql =
            "INSERT INTO renders (job_id, episode, part, state, later, files) VALUES (?1, ?2, ?3, 'QUEUED', ?4, ?5)
                   ON CONFLICT (job_id, episode) DO UPDATE SET part = excluded.part, state = 'QUEUED', failures = 0,
                                                               lapses = 0, notes = '[]'";
        change(db, sql, (&id, result.episode, part, result.violations.is_empty(), kept))?;
        queued += 1;
    }
    Ok(RenderRequestOutcome::Queued(queued))
}

/// Adds the entry of a new result, to be rendered once its job has a verdict.
pub(super) fn expect(db: &Connection, id: &str, result: &EpisodeResult) -> SqlResult<()> {
    let header =
        first(db, "SELECT job_id, header FROM jobs WHERE job_id = ?1", [id], |row| json::<JobHeader>(row, "header"))?;
    if header.is_some_and(|header| is_rendered_later(&header, result)) {
        let sql = "INSERT INTO renders (job_id, episode, part, state, later) VALUES (?1, ?2, 'LOG', 'WAITING', ?3)";
        change(db, sql, (id, result.episode, result.violations.is_empty()))?;
    }
    Ok(())
}

/// Deletes the entries of episodes from `end` on, which no longer count.
pub(super) fn cut(db: &Connection, id: &str, end: u32) -> SqlResult<()> {
    change(db, "DELETE FROM renders WHERE job_id = ?1 AND episode >= ?2", (id, end)).map(drop)
}

/// Queues the entries of a job that has its verdict.
pub(super) fn queue(db: &Connection, id: &str) -> SqlResult<()> {
    change(db, "UPDATE renders SET state = 'QUEUED' WHERE job_id = ?1 AND state = 'WAITING'", [id]).map(drop)
}

/// Deletes the entries of a job that ended without a verdict.
pub(super) fn forget(db: &Connection, id: &str) -> SqlResult<()> {
    change(db, "DELETE FROM renders WHERE job_id = ?1", [id]).map(drop)
}

/// Deletes the entries of an erased job and of its rerun.
pub(super) fn erase(db: &Connection, id: &str) -> SqlResult<()> {
    let sql = "DELETE FROM renders WHERE job_id IN (SELECT job_id FROM jobs WHERE job_id = ?1 OR rerun_of = ?1)";
    change(db, sql, [id]).map(drop)
}

/// Deletes the unfinished entries of a job whose recordings are removed.
pub(super) fn stop(db: &Connection, id: &str) -> SqlResult<()> {
    change(db, "DELETE FROM renders WHERE job_id = ?1 AND state <> 'DONE'", [id]).map(drop)
}

/// Requeues the entries that a worker on another host holds; its leases are void.
pub(super) fn requeue(db: &Connection, worker: &WorkerName) -> SqlResult<()> {
    let sql = "UPDATE renders SET state = 'QUEUED', worker = NULL, lease_until = NULL
               WHERE state = 'LEASED' AND worker = ?1";
    change(db, sql, [worker.lease_holder()]).map(drop)
}

/// Requeues entries whose leases have expired.
pub(super) fn reconcile(db: &Connection, now: Timestamp) -> SqlResult<()> {
    let sql = "SELECT job_id, episode, part, lapses, files, notes FROM renders
               WHERE state = 'LEASED' AND lease_until <= ?1 AND lapses >= ?2";
    let given_up = all(db, sql, (micros(now), MAX_LAPSES), |row| {
        let place = (parsed::<JobId>(row, "job_id")?, row.get::<_, u32>("episode")?);
        Ok((place, part(row)?, json::<Vec<Artifact>>(row, "files")?, json::<Vec<String>>(row, "notes")?))
    })?;
    for (place, part, files, mut notes) in given_up {
        notes.push(DISAPPEARED.to_owned());
        finish_part(db, place, part, &files, &notes)?;
    }
    let sql = "UPDATE renders SET state = 'QUEUED', worker = NULL, lease_until = NULL, lapses = lapses + 1
               WHERE state = 'LEASED' AND lease_until <= ?1";
    change(db, sql, [micros(now)]).map(drop)
}

/// Expires all leases. The caller holds the data folder.
pub(super) fn expire_all(db: &Connection) -> SqlResult<()> {
    change(db, "UPDATE renders SET lease_until = 0 WHERE state = 'LEASED'", []).map(drop)
}
