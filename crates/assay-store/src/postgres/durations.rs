//! The tables of durations (`paces`, `conclusion_pace`).

use assay_model::JobId;
use jiff::Timestamp;

use super::failure::PgResult;
use super::row::{change, first, time_or_null};
use super::session::PgSession;

/// Number of durations in a moving mean.
pub(super) const WINDOW: u32 = 20;

/// Measures the duration of the conclusion just drawn, unless it is a submission's.
pub(super) async fn measure_conclusion(db: &PgSession, job: JobId, now: Timestamp) -> PgResult<()> {
    let sql = "SELECT job_id, recorded_at FROM jobs WHERE job_id = $1 AND kind <> 'submission'";
    let since = first(db, sql, &[&job.0], |row| time_or_null(row, "recorded_at")).await?.flatten();
    let Some(since) = since else { return Ok(()) };
    let seconds = now.duration_since(since).as_secs_f64().max(0.0);
    let sql = "INSERT INTO conclusion_pace AS known (one, jobs, seconds) VALUES (1, 1, $1)
               ON CONFLICT (one) DO UPDATE SET
                   jobs = known.jobs + 1, seconds = known.seconds + ($1 - known.seconds) / least(known.jobs + 1, $2)";
    change(db, sql, &[&seconds, &i64::from(WINDOW)]).await.map(drop)
}
