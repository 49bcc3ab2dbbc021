//! `POST /worker/v1/beat`: renews all leases of a worker.

use std::collections::BTreeSet;

use assay_model::{Fence, HeartbeatAnswer, HeartbeatRequest};
use assay_store::{EpisodeProgress, Lease, WorkerState};
use axum::extract::{Request, State};

use super::claim::lease_duration;
use super::identity::RegisteredWorker;
use super::lease::fence;
use super::receive;
use super::renders::{RENDER_LEASE, render_fence};
use super::tasks::{TASK_LEASE, task_fence};
use crate::disk::disk_error;
use crate::http::{ApiError, Json};
use crate::state::App;

/// Maximum number of leases of a worker.
const MAX_LEASES: usize = 4096;

pub(super) async fn handle(
    State(app): State<App>,
    RegisteredWorker(worker): RegisteredWorker,
    request: Request,
) -> Result<Json<HeartbeatAnswer>, ApiError> {
    let request: HeartbeatRequest = receive::json(&app, &worker.name, request).await?;
    if request.leases.len() > MAX_LEASES || request.progress.len() > MAX_LEASES {
        return Err(ApiError::invalid("leases", None, format!("a worker has at most {MAX_LEASES} leases")));
    }
    let duration = lease_duration(&app);
    let (mut lost, mut held) = (Vec::new(), BTreeSet::new());
    // Each lease costs a write.
    let leases: BTreeSet<String> = request.leases.into_iter().collect();
    for lease in leases {
        if lease.starts_with(RENDER_LEASE) {
            let named = render_fence(&app, &worker, &lease)?;
            if app.records.heartbeat_render(named, app.clock.now(), duration).await? == Lease::Lost {
                lost.push(lease);
            }
            continue;
        }
        if lease.starts_with(TASK_LEASE) {
            let named = task_fence(&app, &worker, &lease)?;
            let now = app.clock.now().into();
            if !app.tasks.renew(named, now).map_err(|error| disk_error(&app, &error))? {
                lost.push(lease);
            }
            continue;
        }
        let named: Fence = fence(&app, &worker, &lease)?;
        match app.records.heartbeat(named, app.clock.now(), duration).await? {
            Lease::Held => {
                if request.progress.iter().any(|running| running.job_id == named.job_id) {
                    let claim = app.records.leased_shard(named).await?;
                    let episodes = claim.map(|claim| claim.episodes).unwrap_or_default();
                    held.extend(episodes.into_iter().map(|episode| (named.job_id, episode)));
                }
            }
            Lease::Lost => lost.push(lease),
        }
    }
    // Progress only of what it holds.
    for running in request.progress.iter().filter(|running| held.contains(&(running.job_id, running.episode))) {
        let max_steps = running.max_steps.max(1);
        let progress = EpisodeProgress { episode: running.episode, step: running.step.min(max_steps), max_steps };
        app.live.report(running.job_id, progress);
    }
    Ok(Json(HeartbeatAnswer { lost, drain: worker.state == WorkerState::Draining }))
}
