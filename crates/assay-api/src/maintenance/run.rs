//! The rounds of maintenance.

use std::future::Future;
use std::sync::Arc;

use assay_store::StoreError;

use super::batch::BATCH;
use super::remove::remove;
use super::{orphans, retain};
use crate::state::App;
use crate::{AppState, models};

/// Runs maintenance at once and then every [`crate::Retention::every_s`], until `stopped` is ready.
pub async fn run_maintenance(state: AppState, stopped: impl Future<Output = ()>) {
    let app: App = Arc::new(state);
    let rounds = async {
        if let Err(error) = orphans::policies(&app).await {
            tracing::warn!(%error, "could not remove the leftovers of a killed server; the next start retries");
        }
        if let Err(error) = models::remove_orphans(&app).await {
            error.log("could not remove files of models that no record names; the next start retries");
        }
        let mut rounds = tokio::time::interval(app.settings.retention.every_s.get());
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            if let Err(error) = round(&app).await {
                error.log("a round of maintenance failed; the next round retries");
            }
        }
    };
    tokio::select! {
        () = rounds => {}
        () = stopped => {}
    }
}

async fn round(app: &App) -> Result<(), StoreError> {
    app.records.purge_responses(app.clock.now()).await?;
    retain::evidence(app).await?;
    retain::policies(app).await?;
    models::remove_expired(app, BATCH).await?;
    models::remove_unused(app, BATCH).await?;
    for removal in app.records.pending_removals(BATCH).await? {
        if let Err(error) = remove(app, &removal).await {
            tracing::warn!(job.id = %removal.job_id, %error, "could not remove files of a job; retrying later");
        }
    }
    Ok(())
}
