//! `POST /worker/v1/renders/claim`: hands out a part of an episode to render, or waits for one.

use std::time::Duration;

use assay_model::{
    AssignedRender, LeasedRender, MAX_CLAIM_WAIT_S, RenderClaimAnswer, RenderClaimRequest, episode_share,
};
use assay_store::{RenderChoice, RenderRequest, WorkerRecord, WorkerState, seeds_of_job};
use axum::extract::{Request, State};
use tokio::time::Instant;

use super::super::claim::lease_duration;
use super::super::identity::RegisteredWorker;
use super::super::receive;
use super::lease::render_lease;
use crate::http::{ApiError, Json};
use crate::state::App;

pub(super) async fn handle(
    State(app): State<App>,
    worker: RegisteredWorker,
    request: Request,
) -> Result<Json<RenderClaimAnswer>, ApiError> {
    let request: RenderClaimRequest = receive::json(&app, &worker.0.name, request).await?;
    let began = Instant::now();
    let until = began + Duration::from_secs(request.wait_s.min(MAX_CLAIM_WAIT_S).into());
    let mut record = worker.0.clone();
    loop {
        // Before the checks, so that a change between them and the wait is not missed.
        let waiting = app.worker_fleet.waiting_for_renderings().join();
        let (drain, waited_ms) = (record.state == WorkerState::Draining, began.elapsed().as_millis());
        let waited_ms = u64::try_from(waited_ms).unwrap_or(u64::MAX);
        if !drain
            && app.worker_fleet.sees_renders(&*app.records).await?
            && let Some(render) = next(&app, &record).await?
        {
            return Ok(Json(RenderClaimAnswer { render: Some(render), waited_ms, drain }));
        }
        let left = until.saturating_duration_since(Instant::now());
        if drain || left.is_zero() || app.readiness.get().is_err() {
            return Ok(Json(RenderClaimAnswer { render: None, waited_ms, drain }));
        }
        if waiting.wait(left).await {
            record = worker.again(&app).await?;
        }
    }
}

async fn next(app: &App, worker: &WorkerRecord) -> Result<Option<LeasedRender>, ApiError> {
    let Some(registration) = worker.registration.as_ref().filter(|registration| registration.renders) else {
        return Ok(None);
    };
    // Recordings of the arena show secret worlds.
    let choice = if worker.trusted { RenderChoice::Any } else { RenderChoice::Verifications };
    let holder = worker.name.lease_holder();
    let request = RenderRequest::new(&holder).of(choice).holding_at_most(registration.lanes);
    let claim = app.records.claim_render(request, app.clock.now(), lease_duration(app)).await?;
    let Some(claim) = claim else { return Ok(None) };
    let (fence, header) = (claim.fence, &claim.header);
    let Some(seeds) = seeds_of_job(&*app.records, header).await? else {
        tracing::error!(job.id = %fence.job_id, "the season of a job that is to be rendered is not in the records");
        app.records.return_render(fence, Some("the season of the job is gone")).await?;
        return Ok(None);
    };
    tracing::info!(job.id = %fence.job_id, episode = fence.episode, worker = %worker.name, "rendering claimed");
    let share = episode_share(app.settings.max_evidence_bytes, header.episodes_to_run());
    let files = claim.result.evidence.iter().chain(&claim.drawn);
    let used = files.map(|file| file.size_bytes).fold(0, u64::saturating_add);
    let render = AssignedRender {
        job_id: fence.job_id,
        part: claim.part,
        scenario: header.scenario.clone(),
        scenario_digest: header.scenario_digest,
        world_seed: seeds.episode(fence.episode).world,
        video_format: app.rendering.video_format(),
        max_image_bytes: share.saturating_sub(used),
        result: claim.result,
    };
    Ok(Some(LeasedRender { lease: render_lease(app, worker, fence), render }))
}
