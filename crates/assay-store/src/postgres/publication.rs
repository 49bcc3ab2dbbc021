//! [`assay_model::Grid`] in SQL: the times at which the state of a submission is published.

use assay_model::JobId;
use jiff::Timestamp;

use super::failure::PgResult;
use super::row::{micros, value};
use super::session::PgSession;

/// Returns an SQL expression for the time, in microseconds, at which the end of a row of the table of jobs (named
/// `jobs`) is published.
pub(super) fn at(jobs: &str) -> String {
    published(jobs, &format!("{jobs}.completed_at"))
}

/// Returns an SQL expression for the time at which an event at `time` is published; both in microseconds. NULL if
/// `time` is NULL.
fn published(jobs: &str, time: &str) -> String {
    use assay_model::Grid;
    let (step, settle) = (u64::from(Grid::STEP_S) * 1_000_000, u64::from(Grid::SETTLE_S) * 1_000_000);
    let age = format!("({time} + {settle} - {jobs}.created_at)");
    // `greatest` would ignore a NULL.
    format!("({jobs}.created_at + (CASE WHEN {age} < 0 THEN 0 ELSE {age} END / {step} + 1) * {step})")
}

/// Returns an SQL expression for the state of a submission that is published by `now`, which is an expression for a
/// time in microseconds.
pub(super) fn status(now: &str) -> String {
    let (ended_at, started_at) = (at("jobs"), published("jobs", "jobs.started_at"));
    let judging = "(SELECT at FROM events WHERE events.job_id = jobs.job_id AND events.status = 'JUDGING'
                    ORDER BY number LIMIT 1)";
    let judging_at = published("jobs", judging);
    format!(
        "(CASE WHEN jobs.status = 'CANCELLED' OR {ended_at} <= {now} OR {IS_CLOSED} THEN jobs.status
               WHEN {judging_at} <= {now} THEN 'JUDGING'
               WHEN {started_at} <= {now} THEN 'RUNNING'
               ELSE 'QUEUED' END)"
    )
}

/// SQL condition that the season of a row of the table of jobs is closed.
const IS_CLOSED: &str = "EXISTS (SELECT 1 FROM seasons WHERE seasons.scenario = jobs.scenario
                                     AND seasons.number = jobs.season AND seasons.state = 'CLOSED')";

/// Returns true if a job is a submission of an open or closing season whose end is not published.
pub(super) async fn is_hidden_end(db: &PgSession, id: JobId, now: Timestamp) -> PgResult<bool> {
    let published_at = at("jobs");
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM jobs WHERE job_id = $1 AND kind = 'submission' AND completed_at IS NOT NULL
                            AND {published_at} > $2 AND NOT {IS_CLOSED})"
    );
    value(db, &sql, &[&id.0, &micros(now)]).await
}
