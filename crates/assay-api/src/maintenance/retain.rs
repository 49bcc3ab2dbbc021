//! What is too old or too much. Jobs that have not ended are never looked at.

use assay_store::StoreError;
use jiff::{SignedDuration, Timestamp};

use super::BATCH;
use crate::Retention;
use crate::state::App;

/// Jobs among which the oldest evidence is looked for when there is too much.
const CANDIDATES: u32 = 10_000;

/// Decides which evidence goes: by age, then by size, the oldest first.
pub(super) async fn evidence(app: &App) -> Result<(), StoreError> {
    let (settings, now) = (&app.settings.retention, app.clock.now());
    if let Some(age) = Retention::age(settings.evidence_days) {
        for job in app.records.with_evidence(before(now, age), BATCH).await? {
            if app.records.drop_evidence(job, now).await? {
                tracing::info!(job.id = %job, "its evidence is too old");
            }
        }
    }
    if settings.evidence_max_mib == 0 {
        return Ok(());
    }
    let usage = match app.blobs.usage().await {
        Ok(usage) => usage,
        Err(error) => {
            tracing::warn!(%error, "the evidence could not be measured");
            return Ok(());
        }
    };
    let mut left: u64 = usage.values().sum();
    let most = settings.evidence_max_mib << 20;
    if left <= most {
        return Ok(());
    }
    for job in app.records.with_evidence(now, CANDIDATES).await? {
        let Some(bytes) = usage.get(&job).filter(|_| left > most) else { continue };
        if app.records.drop_evidence(job, now).await? {
            tracing::info!(job.id = %job, size_bytes = bytes, "its evidence is the oldest, and there is too much");
            left = left.saturating_sub(*bytes);
        }
    }
    Ok(())
}

/// Decides which archives go.
pub(super) async fn policies(app: &App) -> Result<(), StoreError> {
    let now = app.clock.now();
    let Some(age) = Retention::age(app.settings.retention.policy_days) else { return Ok(()) };
    let gone = app.records.drop_policies(before(now, age), BATCH, now).await?;
    if gone > 0 {
        tracing::info!(jobs = gone, "policies are too old");
    }
    Ok(())
}

fn before(now: Timestamp, age: SignedDuration) -> Timestamp {
    now.saturating_sub(age).unwrap_or(Timestamp::MIN)
}
