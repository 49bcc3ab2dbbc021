//! The rounds of maintenance.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use assay_store::StoreError;

use super::batch::BATCH;
use super::remove::remove;
use super::{orphans, retain};
use crate::state::App;
use crate::{AppState, models};

/// Interval at which a server that does not lead checks whether it does now.
const LOOK: Duration = Duration::from_secs(1);

/// Runs maintenance at once and then every [`crate::Retention::every_s`], until `stopped` is ready.
pub async fn run_maintenance(state: AppState, stopped: impl Future<Output = ()>) {
    let app: App = Arc::new(state);
    let rounds = async {
        let mut led = false;
        loop {
            // Of several servers, one leads.
            if !app.site.leads() {
                led = false;
                tokio::time::sleep(LOOK).await;
                continue;
            }
            if !std::mem::replace(&mut led, true) {
                remove_orphans(&app).await;
            }
            if let Err(error) = round(&app).await {
                error.log("a round of maintenance failed; the next round retries");
            }
            tokio::time::sleep(app.settings.retention.every_s.get()).await;
        }
    };
    tokio::select! {
        () = rounds => {}
        () = stopped => {}
    }
}

/// Removes what a server that was killed has left.
async fn remove_orphans(app: &App) {
    if let Err(error) = orphans::policies(app).await {
        tracing::warn!(%error, "could not remove the leftovers of a killed server; the next start retries");
    }
    if let Err(error) = models::remove_orphans(app).await {
        error.log("could not remove files of models that no record names; the next start retries");
    }
}

async fn round(app: &App) -> Result<(), StoreError> {
    app.records.purge_responses(app.clock.now()).await?;
    retain::evidence(app).await?;
    retain::policies(app).await?;
    retain::accesses(app).await?;
    models::remove_expired(app, BATCH).await?;
    models::remove_unused(app, BATCH).await?;
    for removal in app.records.pending_removals(BATCH).await? {
        if let Err(error) = remove(app, &removal).await {
            tracing::warn!(job.id = %removal.job_id, %error, "could not remove files of a job; retrying later");
        }
    }
    Ok(())
}
