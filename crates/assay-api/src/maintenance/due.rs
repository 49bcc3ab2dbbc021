//! The removals of the next round of maintenance, without doing them.

use assay_model::JobId;
use assay_store::StoreError;
use jiff::{SignedDuration, Timestamp};

use super::batch::BATCH;
use crate::Retention;
use crate::evidence_usage::UsageError;
use crate::state::App;

/// Maximum number of jobs considered when there is too much evidence.
const CANDIDATES: u32 = 10_000;

/// The removals of the next round, at most about a thousand of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DueRemovals {
    /// Number of jobs whose evidence is too old, or beyond the limit of its total size.
    pub(crate) evidence_jobs: u64,
    /// Size of that evidence in bytes.
    pub(crate) evidence_bytes: u64,
    /// Number of jobs whose policy archives are too old.
    pub(crate) policies: u64,
    /// Number of models that are too old, and of uploads of models that were not finished in time.
    pub(crate) models: u64,
    /// Size of these models in bytes.
    pub(crate) model_bytes: u64,
    /// Number of jobs of which files are being deleted: removed ones, and what is left of attempts that were not
    /// recorded.
    pub(crate) pending: u64,
}

/// Returns what the next round would remove.
pub(crate) async fn due_removals(app: &App) -> Result<DueRemovals, UsageError> {
    let now = app.clock.now();
    let settings = &app.settings.retention;
    let sizes = app.evidence_usage.measure(&app.blobs, &*app.records, now).await?;
    let size = |job: &JobId| sizes.get(job).copied().unwrap_or(0);
    let mut evidence = expired_evidence(app, now).await?;
    let kept = sizes.values().sum::<u64>().saturating_sub(evidence.iter().map(size).sum());
    let expired = evidence.clone();
    let beyond = evidence_beyond_limit(app, now, kept, size).await?;
    evidence.extend(beyond.into_iter().filter(|job| !expired.contains(job)));
    let policies = match Retention::age(settings.policy_days) {
        Some(age) => app.records.count_old_policies(before(now, age), BATCH).await?,
        None => 0,
    };
    let mut models = app.records.expired_model_uploads(now, BATCH).await?;
    if let Some(age) = Retention::age(settings.model_days) {
        models.extend(app.records.unused_models(before(now, age), BATCH).await?);
    }
    Ok(DueRemovals {
        evidence_jobs: evidence.len() as u64,
        evidence_bytes: evidence.iter().map(size).sum(),
        policies,
        models: models.len() as u64,
        model_bytes: models.iter().map(|model| model.received_bytes).sum(),
        pending: app.records.pending_removals(BATCH).await?.len() as u64,
    })
}

/// Returns the jobs whose evidence is too old.
pub(super) async fn expired_evidence(app: &App, now: Timestamp) -> Result<Vec<JobId>, StoreError> {
    match Retention::age(app.settings.retention.evidence_days) {
        Some(age) => app.records.jobs_with_evidence(before(now, age), BATCH).await,
        None => Ok(Vec::new()),
    }
}

/// Returns the jobs that ended first and without whose evidence `total` bytes are within the limit.
pub(super) async fn evidence_beyond_limit(
    app: &App,
    now: Timestamp,
    total: u64,
    size: impl Fn(&JobId) -> u64,
) -> Result<Vec<JobId>, StoreError> {
    let most = app.settings.retention.evidence_max_mib << 20;
    if most == 0 || total <= most {
        return Ok(Vec::new());
    }
    let mut left = total;
    let mut beyond = Vec::new();
    for job in app.records.jobs_with_evidence(now, CANDIDATES).await? {
        let bytes = size(&job);
        if bytes > 0 && left > most {
            left = left.saturating_sub(bytes);
            beyond.push(job);
        }
    }
    Ok(beyond)
}

/// Returns the time that is `age` before `now`.
pub(super) fn before(now: Timestamp, age: SignedDuration) -> Timestamp {
    now.saturating_sub(age).unwrap_or(Timestamp::MIN)
}
