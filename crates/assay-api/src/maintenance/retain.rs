//! Retention of evidence and policies. Jobs that have not ended are never affected.

use assay_model::ErrorChain;
use assay_store::StoreError;
use jiff::{SignedDuration, Timestamp};

use super::batch::BATCH;
use crate::Retention;
use crate::state::App;

/// Maximum number of jobs considered when there is too much evidence.
const CANDIDATES: u32 = 10_000;

/// Marks evidence for removal: by age, then by total size, the oldest first.
pub(super) async fn evidence(app: &App) -> Result<(), StoreError> {
    let (settings, now) = (&app.settings.retention, app.clock.now());
    if let Some(age) = Retention::age(settings.evidence_days) {
        for job in app.records.jobs_with_evidence(before(now, age), BATCH).await? {
            if app.records.drop_evidence(job, now).await? {
                tracing::info!(job.id = %job, "evidence expired by age");
            }
        }
    }
    if settings.evidence_max_mib == 0 {
        return Ok(());
    }
    let usage = match app.evidence_usage.measure(&app.blobs, &*app.records, now).await {
        Ok(usage) => usage,
        Err(error) => {
            tracing::warn!(error = %ErrorChain(&error), "could not measure the size of the evidence");
            return Ok(());
        }
    };
    let mut left: u64 = usage.values().sum();
    let most = settings.evidence_max_mib << 20;
    if left <= most {
        return Ok(());
    }
    for job in app.records.jobs_with_evidence(now, CANDIDATES).await? {
        let Some(bytes) = usage.get(&job).filter(|_| left > most) else { continue };
        if app.records.drop_evidence(job, now).await? {
            tracing::info!(job.id = %job, size_bytes = bytes, "evidence removed because the total is over its limit");
            left = left.saturating_sub(*bytes);
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

fn before(now: Timestamp, age: SignedDuration) -> Timestamp {
    now.saturating_sub(age).unwrap_or(Timestamp::MIN)
}
