//! [`assay_model::Grid`] in SQL: the times at which the state of a submission is published.

use assay_model::JobId;
use jiff::Timestamp;
use rusqlite::Connection;

use super::failure::SqlResult;
use super::row::{micros, value};

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
    format!("({jobs}.created_at + (max({time} + {settle} - {jobs}.created_at, 0) / {step} + 1) * {step})")
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
pub(super) fn is_hidden_end(db: &Connection, id: JobId, now: Timestamp) -> SqlResult<bool> {
    let published_at = at("jobs");
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM jobs WHERE job_id = ?1 AND kind = 'submission' AND completed_at IS NOT NULL
                            AND {published_at} > ?2 AND NOT {IS_CLOSED})"
    );
    value(db, &sql, (id.to_string(), micros(now)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use assay_model::Grid;

    use super::*;

    #[test]
    fn the_statement_agrees_with_the_type() {
        let db = Connection::open_in_memory().unwrap();
        let time = |micros: i64| Timestamp::from_microsecond(1_750_000_000_123_000 + micros).unwrap();
        let sql = format!("SELECT {} FROM (SELECT ?1 AS created_at, ?2 AS completed_at) AS jobs", at("jobs"));
        for micros_later in [-20_000_000, -1, 0, 1, 13_999_999, 14_000_000, 14_000_001, 29_000_000, 1_000_000_000_007] {
            let (created, ended) = (time(0), time(micros_later));
            let found: i64 = value(&db, &sql, (micros(created), micros(ended))).unwrap();
            assert_eq!(found, micros(Grid::of(created).published(ended)), "{micros_later}");
        }
    }
}
