//! Lists and counts of jobs.

use assay_model::{AccountId, JobKind, JobStatus, ScenarioId};
use futures_util::future::join;

use super::failure::PgResult;
use super::job_rows::{COLUMNS, read};
use super::publication;
use super::row::{Parameter, all, count, micros, number, status, time_or_null};
use super::session::PgSession;
use crate::{JobCounts, JobFilter, JobRecord};

/// Lists a page of jobs, and counts all that match. The two queries are sent together; a job that is accepted between
/// them may be counted and not listed.
pub(super) async fn list(db: PgSession, filter: &JobFilter) -> PgResult<(Vec<JobRecord>, u64)> {
    let account = filter.account.as_ref().map(AccountId::as_str);
    let scenario = filter.scenario.as_ref().map(ScenarioId::as_str);
    let status = filter.status.map(JobStatus::as_str);
    let verdict = filter.verdict.map(|verdict| verdict.to_string());
    let published_by = filter.published_by.map(micros);
    let before = filter.before.map(|id| id.0);
    let (limit, offset) = (i64::from(filter.limit), i64::from(filter.offset));
    let matching = matching(filter);
    let page = format!(
        "SELECT {COLUMNS} FROM jobs WHERE {matching} AND ($6::uuid IS NULL OR job_id < $6)
         ORDER BY job_id DESC LIMIT $7 OFFSET $8"
    );
    let values: [Parameter<'_>; 8] = [&account, &scenario, &status, &verdict, &published_by, &before, &limit, &offset];
    // Without other filters the total is kept with each account.
    let kept = match filter.kind {
        JobKind::Verify => Some("verifications"),
        JobKind::Submission => Some("submissions"),
        JobKind::Rerun => None,
    };
    let kept = kept.filter(|_| scenario.is_none() && status.is_none() && verdict.is_none());
    let (total, parameters) = match kept {
        Some(kept) => {
            let owner = wanted(account.is_some(), "account = $1", "$1::text IS NULL");
            (format!("SELECT coalesce(sum({kept}), 0)::bigint FROM account_use WHERE {owner}"), &values[..1])
        }
        None => (format!("SELECT count(*) FROM jobs WHERE {matching}"), &values[..5]),
    };
    let (jobs, total) = join(all(&db, &page, &values, read), count(&db, &total, parameters)).await;
    Ok((jobs?, total?))
}

/// Returns the SQL condition of the filter without `before`: `$1` is the account, then scenario, status, verdict and
/// `published_by`.
fn matching(filter: &JobFilter) -> String {
    let by_published = filter.published_by.is_some() && filter.kind == JobKind::Submission;
    let (status, time) = match by_published {
        true => (publication::status("$5"), "$5::bigint IS NOT NULL"),
        false => ("jobs.status".to_owned(), "($5::bigint IS NULL OR true)"),
    };
    let status_is = format!("{status} = $3");
    let verdict_is = match by_published {
        true => format!("verdict = $4 AND {status} = 'COMPLETED'"),
        false => "verdict = $4".to_owned(),
    };
    let conditions = [
        wanted(filter.account.is_some(), "account = $1", "$1::text IS NULL"),
        wanted(filter.scenario.is_some(), "scenario = $2", "$2::text IS NULL"),
        wanted(filter.status.is_some(), &status_is, "$3::text IS NULL"),
        wanted(filter.verdict.is_some(), &verdict_is, "$4::text IS NULL"),
        time,
    ];
    format!("kind = '{}' AND {}", filter.kind.as_str(), conditions.join(" AND "))
}

/// Selects a separate text for each case, so that each has a plan of its own with the index that fits.
fn wanted<'a>(is_given: bool, condition: &'a str, nothing: &'a str) -> &'a str {
    if is_given { condition } else { nothing }
}

pub(super) async fn counts(db: PgSession) -> PgResult<JobCounts> {
    let mut counts = JobCounts::default();
    // Jobs that have ended are counted in the index alone; they are the majority.
    let sql = "SELECT status, n, (SELECT min(created_at) FROM jobs
                                  WHERE jobs.status = counted.status AND counted.status IN ('QUEUED', 'RUNNING', 'JUDGING'))
                                     AS oldest
               FROM (SELECT status, count(*) AS n FROM jobs GROUP BY status) AS counted";
    let rows =
        all(&db, sql, &[], |row| Ok((status(row)?, number::<u64>(row, "n")?, time_or_null(row, "oldest")?))).await?;
    for (status, n, oldest) in rows {
        *match status {
            JobStatus::Queued => &mut counts.queued,
            JobStatus::Running => &mut counts.running,
            JobStatus::Judging => &mut counts.judging,
            JobStatus::Completed => &mut counts.completed,
            JobStatus::Failed => &mut counts.failed,
            JobStatus::Cancelled => &mut counts.cancelled,
        } = n;
        if status == JobStatus::Queued {
            counts.oldest_queued = oldest;
        }
        if let Some(oldest) = oldest {
            counts.oldest_open = Some(counts.oldest_open.map_or(oldest, |known| known.min(oldest)));
        }
    }
    Ok(counts)
}
