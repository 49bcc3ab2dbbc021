//! Acceptance of submissions to the arena.

use assay_model::{
    ArenaEntry, JobHeader, JobId, PUBLIC_SEED, Plan, PolicyIdentity, PolicyKey, Record, RuntimeVersion, Secret,
};
use assay_store::{Season, SubmitOutcome};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::accept_job::{AcceptedJob, DailyLimit, JobDraft, JobOrigin, in_milliseconds};
use crate::http::{ApiError, OverLimit};
use crate::seasons::season_not_open;
use crate::state::App;
use crate::upload::{self, StoredPolicy, SubmissionRequest};

/// Seconds of a day.
const DAY_S: i64 = 24 * 60 * 60;

/// A submission to accept.
#[derive(Debug)]
pub(crate) struct SubmissionToAccept<'a> {
    pub(crate) request: SubmissionRequest,
    pub(crate) season: &'a Season,
    pub(crate) policy: StoredPolicy,
    pub(crate) callback_url: Option<Secret>,
}

/// Accepts a submission. Returns the body that `response` creates from its id and time.
///
/// # Errors
/// The season is not open, the account has used up one of its caps, or the job could not be stored.
pub(crate) async fn accept_submission<T: Serialize>(
    app: &App,
    origin: &JobOrigin,
    new: SubmissionToAccept<'_>,
    response: impl FnOnce(JobId, Timestamp) -> T,
) -> Result<AcceptedJob<T>, ApiError> {
    let archive = new.policy.path.clone();
    let accepted = accept(app, origin, new, response).await;
    if accepted.is_err() {
        upload::discard(app, Some(archive)).await;
    }
    accepted
}

async fn accept<T: Serialize>(
    app: &App,
    origin: &JobOrigin,
    new: SubmissionToAccept<'_>,
    response: impl FnOnce(JobId, Timestamp) -> T,
) -> Result<AcceptedJob<T>, ApiError> {
    let (id, now) = (JobId(app.new_id()), app.clock.now());
    let SubmissionToAccept { request, season, policy, callback_url } = new;
    let scenario = request.scenario.clone();
    let header = header(id, now, request, &policy, season);
    let body = response(id, header.created_at);
    let draft = JobDraft { scenario: &scenario, header, policy: Some(&policy), callback_url, connects: false };
    let limit = daily_limit(app, now);
    match origin.create(app, draft, &body, Some(limit)).await? {
        SubmitOutcome::Accepted { .. } => Ok(AcceptedJob { location: origin.location(app, id), body }),
        SubmitOutcome::NotOpen => Err(season_not_open(season)),
        SubmitOutcome::TooMany => Err(too_many(limit, season, now)),
    }
}

fn daily_limit(app: &App, now: Timestamp) -> DailyLimit {
    let today = now.as_second().div_euclid(DAY_S) * DAY_S;
    let since = Timestamp::from_second(today).unwrap_or(now);
    DailyLimit { submissions: app.settings.account.submissions_per_day, since }
}

/// Returns the error for a submission over the daily limit.
fn too_many(limit: DailyLimit, season: &Season, now: Timestamp) -> ApiError {
    let free = limit.since.saturating_add(SignedDuration::from_secs(DAY_S)).unwrap_or(now);
    let (daily, most) = (limit.submissions, u64::from(limit.submissions));
    let over = OverLimit::until("submissions_per_day", most, most, free);
    let message =
        format!("your account has used all {daily} submissions to {} today; try again at {free}", season.scenario);
    let wait = u64::try_from(free.as_second() - now.as_second()).unwrap_or(1).max(1);
    ApiError::over_limit(&over, message, wait)
}

/// Returns the runtime for a submission: while a season is open, policies for the runtime `base` run in the version
/// that the season was opened with.
fn runtime(policy: &StoredPolicy, season: &Season) -> RuntimeVersion {
    let pinned = season.pins.fingerprint.runtime.clone();
    pinned.filter(|pinned| pinned.name == policy.runtime.name).unwrap_or_else(|| policy.runtime.clone())
}

fn header(id: JobId, now: Timestamp, request: SubmissionRequest, policy: &StoredPolicy, season: &Season) -> JobHeader {
    let pins = &season.pins;
    JobHeader {
        job_id: id,
        scenario: season.scenario.clone(),
        scenario_version: pins.scenario_version.clone(),
        scenario_digest: pins.scenario_digest,
        render_profile: request.scenario.render_profile,
        policy_name: request.name,
        policy_sha256: Some(policy.sha256),
        policy_identity: PolicyIdentity::Measured,
        runtime: Some(runtime(policy, season)),
        models: policy.models.clone(),
        replan_steps: None,
        // The seed of the showcase. Only the season knows those of the other episodes.
        seed: PUBLIC_SEED,
        policy_key: Some(PolicyKey::public()),
        // The showcase gets a video regardless.
        record: Record::None,
        plan: Plan {
            episodes: pins.episodes,
            target: None,
            confidence_level: Plan::DEFAULT_CONFIDENCE_LEVEL,
            max_violation_probability: pins.max_violation_probability,
            draws_worlds: request.scenario.draws_worlds(),
        },
        created_at: in_milliseconds(now),
        warnings: policy.warnings.clone(),
        arena: Some(ArenaEntry {
            season: season.number,
            rerun: false,
            max_score: pins.max_score,
            description: request.description,
        }),
        labels: std::collections::BTreeMap::new(),
        drawn_ranges: request.scenario.drawn_ranges.clone(),
    }
}
