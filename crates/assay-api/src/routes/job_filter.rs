//! The filters shared by `GET /verify` and `GET /submissions`.

use std::str::FromStr;

use assay_model::{JobId, JobKind, JobStatus, ScenarioId, Verdict};
use assay_store::JobFilter;
use jiff::Timestamp;

use crate::http::{ApiError, Caller};
use crate::routes::query::Query;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// The requested page.
pub(crate) struct WantedJobs {
    pub(crate) limit: u32,
    pub(crate) offset: u32,
    /// `None` if a filter has an unknown value, which matches nothing but is not an error.
    pub(crate) filter: Option<JobFilter>,
}

/// Parses the query for the caller's own jobs of this kind, in the state published by `now`.
pub(crate) fn parse(
    query: Option<&str>,
    kind: JobKind,
    caller: &Caller,
    now: Timestamp,
) -> Result<WantedJobs, ApiError> {
    let query = Query::parse(query);
    let limit = query.number("limit", DEFAULT_LIMIT, 1, MAX_LIMIT)?;
    let offset = query.number("offset", 0, 0, i32::MAX.unsigned_abs())?;
    let what = if kind == JobKind::Submission { "submission" } else { "job" };
    let before = query.text("before")?.map(|text| {
        let message = format!("before must be the id of a {what}");
        text.parse::<JobId>().map_err(|_| ApiError::invalid("before", Some(text), message))
    });
    let mut filter = JobFilter {
        kind,
        account: Some(caller.key.account.clone()),
        before: before.transpose()?,
        published_by: Some(now),
        limit,
        offset,
        ..JobFilter::default()
    };
    let mut known = set(&query, "scenario", |text| ScenarioId::from_str(text).ok(), &mut filter.scenario)?;
    known &= set(&query, "status", JobStatus::parse, &mut filter.status)?;
    known &= set(&query, "verdict", Verdict::parse, &mut filter.verdict)?;
    Ok(WantedJobs { limit, offset, filter: known.then_some(filter) })
}

/// Reads one parameter into the filter. Returns false if its value is unknown.
fn set<T>(
    query: &Query,
    name: &str,
    parse: impl Fn(&str) -> Option<T>,
    place: &mut Option<T>,
) -> Result<bool, ApiError> {
    let Some(text) = query.text(name)? else { return Ok(true) };
    *place = parse(text);
    Ok(place.is_some())
}
