//! What the service does by itself, beside requests: forgets old answers, removes what is too old or too much, and ends
//! what a dead server left half done.

mod orphans;
mod remove;
mod retain;

use std::future::Future;
use std::sync::Arc;

use assay_store::StoreError;

pub(crate) use remove::{remove, remove_policy};

use crate::AppState;
use crate::state::App;

/// Jobs that are looked at in one round.
const BATCH: u32 = 1000;

/// Looks after what is kept, at once and then every [`crate::Retention::every_s`], until `stopped` is ready.
pub async fn run_maintenance(state: AppState, stopped: impl Future<Output = ()>) {
    let app: App = Arc::new(state);
    let rounds = async {
        if let Err(error) = orphans::policies(&app).await {
            tracing::warn!(%error, "what a killed server left behind could not be removed; the next start tries again");
        }
        let mut rounds = tokio::time::interval(app.settings.retention.every_s.get());
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            if let Err(error) = round(&app).await {
                error.log("what is kept could not be looked after; the next round tries again");
            }
        }
    };
    tokio::select! {
        () = rounds => {}
        () = stopped => {}
    }
}

async fn round(app: &App) -> Result<(), StoreError> {
    app.records.forget_answers(app.clock.now()).await?;
    retain::evidence(app).await?;
    retain::policies(app).await?;
    for removal in app.records.removals(BATCH).await? {
        if let Err(error) = remove(app, &removal).await {
            tracing::warn!(job.id = %removal.job_id, %error, "files of a job could not be removed; tried again later");
        }
    }
    Ok(())
}
