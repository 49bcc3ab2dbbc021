//! Rows of the table of jobs.

use assay_model::JobStatus;
use tokio_postgres::Row;

use super::failure::PgResult;
use super::row::{field, json, json_or_null, number, parsed, status, time, time_or_null};
use crate::{JobOutcome, JobRecord, JobState, RemovalTimes, RenderCounts};

/// The columns that [`read`] reads.
pub(super) const COLUMNS: &str = "job_id, account, status, header, policy_path, episodes_done, started_at, completed_at, \
                       conclusion, fingerprint, failure, \
                       erased_at, evidence_removed_at, policy_removed_at, \
                       (SELECT review FROM reviews WHERE reviews.job_id = jobs.job_id \
                       ORDER BY number DESC LIMIT 1) AS review, \
                       CASE WHEN episodes_done > 0 THEN \
                       (SELECT (count(*) + (count(*) FILTER (WHERE state <> 'DONE') << 20) \
                       + (count(*) FILTER (WHERE part = 'LOG' AND state <> 'DONE') << 40))::bigint \
                       FROM renders WHERE renders.job_id = jobs.job_id) END AS renders";

pub(super) fn read(row: &Row) -> PgResult<JobRecord> {
    let state = match status(row)? {
        JobStatus::Queued => JobState::Queued,
        JobStatus::Running => JobState::Running { started_at: time(row, "started_at")? },
        JobStatus::Judging => JobState::Judging { started_at: time(row, "started_at")? },
        JobStatus::Completed => JobState::Completed {
            started_at: time(row, "started_at")?,
            completed_at: time(row, "completed_at")?,
            outcome: Box::new(JobOutcome {
                conclusion: json(row, "conclusion")?,
                fingerprint: json(row, "fingerprint")?,
            }),
        },
        JobStatus::Failed => JobState::Failed {
            started_at: time_or_null(row, "started_at")?,
            completed_at: time(row, "completed_at")?,
            failure: json(row, "failure")?,
        },
        JobStatus::Cancelled => JobState::Cancelled {
            started_at: time_or_null(row, "started_at")?,
            completed_at: time(row, "completed_at")?,
        },
    };
    Ok(JobRecord {
        account: parsed(row, "account")?,
        header: json(row, "header")?,
        policy_path: field(row, "policy_path")?,
        state,
        episodes_done: number(row, "episodes_done")?,
        review: json_or_null(row, "review")?,
        removed: RemovalTimes {
            erased_at: time_or_null(row, "erased_at")?,
            evidence_at: time_or_null(row, "evidence_removed_at")?,
            policy_at: time_or_null(row, "policy_removed_at")?,
        },
        renders: RenderCounts::unpack(field::<Option<i64>>(row, "renders")?.unwrap_or_default()),
    })
}
