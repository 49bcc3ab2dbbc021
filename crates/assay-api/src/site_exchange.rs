//! Exchanges the state of this server with the other servers of the site.

use std::future::Future;
use std::time::Duration;

use assay_store::{Bulletin, StoreError};

use crate::AppState;
use crate::connections::unfit;

/// Interval of the exchanges.
const INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which connections are looked for whose jobs have ended, or continue, at another server.
const CLEANING_INTERVAL: Duration = Duration::from_secs(10);

/// Exchanges state with the other servers every second until `stopped` is ready, and then leaves the site. Returns at
/// once if there can be no others.
pub async fn exchange_with_other_servers(state: AppState, stopped: impl Future<Output = ()>) {
    if !state.site.is_shared() {
        return;
    }
    let exchanges = async {
        loop {
            if let Err(error) = exchange(&state).await {
                error.log("could not exchange state with the other servers; retrying every second");
            }
            tokio::time::sleep(INTERVAL).await;
        }
    };
    // Separate, because the folder may be on another host, and must not delay the exchanges.
    let cleaning = async {
        loop {
            tokio::time::sleep(CLEANING_INTERVAL).await;
            if let Err(error) = leave_unfit(&state).await {
                error.log("could not look for jobs of connected policies that cannot run here; retrying");
            }
            let state = state.clone();
            drop(tokio::task::spawn_blocking(move || forget_ended(&state)).await);
        }
    };
    tokio::select! {
        () = exchanges => {}
        () = cleaning => {}
        () = stopped => {}
    }
    if let Err(error) = state.site.leave().await {
        error.log("could not leave the other servers, which notice it after some seconds");
    }
}

async fn exchange(state: &AppState) -> Result<(), StoreError> {
    let led = state.site.leads();
    state.site.exchange(&bulletin(state)).await?;
    let others = state.site.others();
    state.live.receive(&others);
    state
        .policy_connections
        .set_elsewhere(&others.iter().flat_map(|server| server.connected.iter().copied()).collect());
    if state.site.leads() != led {
        tracing::info!(leads = !led, "the upkeep of the site changed hands");
    }
    state.rate.exchange().await
}

/// Closes connections of jobs that this server can no longer run: the result of an episode at another one came after
/// the handshake. The policy connects again, and reaches one that can.
async fn leave_unfit(state: &AppState) -> Result<(), StoreError> {
    for job in state.policy_connections.connected() {
        if let Some(why) = unfit(state, job).await? {
            tracing::info!(job.id = %job, why, "closing the connection of a policy");
            state.policy_connections.leave(job);
        }
    }
    Ok(())
}

/// Ends the connections of jobs that need them no longer, because they ended at another server: it has removed their
/// files.
fn forget_ended(state: &AppState) {
    for job in state.policy_connections.known() {
        if matches!(state.servers.get(job), Ok(None)) {
            state.policy_connections.end(job);
        }
    }
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
        downloads: state.download_slots.holders(),
        uploads,
        pending_bytes,
        connected: state.policy_connections.connected(),
        awaited: state.policy_connections.awaited(),
        ..Bulletin::default()
    };
    state.live.report_to(&mut bulletin);
    bulletin
}
