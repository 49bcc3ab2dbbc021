//! Tells the other servers of the site the state of this one, and learns theirs.

use std::future::Future;
use std::time::Duration;

use assay_store::{Bulletin, StoreError};

use crate::AppState;

/// Interval of the meetings.
const INTERVAL: Duration = Duration::from_secs(1);

/// Meets the other servers every second until `stopped` is ready, and then leaves them. Returns at once if there can be
/// none.
pub async fn meet_other_servers(state: AppState, stopped: impl Future<Output = ()>) {
    if !state.site.is_shared() {
        return;
    }
    let meetings = async {
        loop {
            if let Err(error) = meet(&state).await {
                error.log("could not meet the other servers; retrying every second");
            }
            tokio::time::sleep(INTERVAL).await;
        }
    };
    tokio::select! {
        () = meetings => {}
        () = stopped => {}
    }
    if let Err(error) = state.site.leave().await {
        error.log("could not leave the other servers, which notice it after some seconds");
    }
}

async fn meet(state: &AppState) -> Result<(), StoreError> {
    let led = state.site.leads();
    state.site.meet(&bulletin(state)).await?;
    state.live.hear(&state.site.others());
    if state.site.leads() != led {
        tracing::info!(leads = !led, "the upkeep of the site changed hands");
    }
    state.rate.exchange().await
}

/// Returns the state of this server.
pub(crate) fn bulletin(state: &AppState) -> Bulletin {
    let (uploads, pending_bytes) = state.upload_space.in_progress();
    let mut bulletin = Bulletin {
        lanes: state.settings.local_lanes,
        machine: Some(state.fingerprint.digest()),
        streams: state.events.streams(),
        preflights: state.preflight_slots.holders(),
        publications: state.publishing_slots.holders(),
        uploads,
        pending_bytes,
        ..Bulletin::default()
    };
    state.live.tell(&mut bulletin);
    bulletin
}
