//! Retention of evidence and policies. Jobs that have not ended are never affected.

use assay_model::ErrorChain;
use assay_store::StoreError;

use super::batch::BATCH;
use super::due::{before, evidence_beyond_limit, expired_evidence};
use crate::Retention;
use crate::state::App;

/// Maximum number of accesses that are deleted at a time.
const ACCESS_BATCH: u32 = 10_000;

/// Marks evidence for removal: by age, then by total size, the oldest first.
pub(super) async fn evidence(app: &App) -> Result<(), StoreError> {
    let now = app.clock.now();
    for job in expired_evidence(app, now).await? {
        if app.records.drop_evidence(job, now).await? {
            tracing::info!(job.id = %job, "evidence expired by age");
        }
    }
    if app.settings.retention.evidence_max_mib == 0 {
        return Ok(());
    }
    let usage = match app.evidence_usage.measure(&app.blobs, &*app.records, now).await {
        Ok(usage) => usage,
        Err(error) => {
            tracing::warn!(error = %ErrorChain(&error), "could not measure the size of the evidence");
            return Ok(());
        }
    };
    let size = |job: &_| usage.get(job).copied().unwrap_or(0);
    for job in evidence_beyond_limit(app, now, usage.values().sum(), size).await? {
        if app.records.drop_evidence(job, now).await? {
            let bytes = size(&job);
            tracing::info!(job.id = %job, size_bytes = bytes, "evidence removed because the total is over its limit");
        }
    }
    Ok(())
}

/// Marks policy archives for removal by age.
pub(super) async fn policies(app: &App) -> Result<(), StoreError> {
    let now = app.clock.now();
    let Some(age) = Retention::age(app.settings.retention.policy_days) else { return Ok(()) };
    let gone = app.records.drop_policies(before(now, age), BATCH, now).await?;
    if gone > 0 {
        tracing::info!(jobs = gone, "policy archives expired by age");
    }
    Ok(())
}

/// Deletes accesses by age.
pub(super) async fn accesses(app: &App) -> Result<(), StoreError> {
    let Some(age) = Retention::age(app.settings.retention.access_days) else { return Ok(()) };
    app.records.forget_accesses(before(app.clock.now(), age), ACCESS_BATCH).await.map(drop)
}
