//! Failures that no trace shows: a policy that raised an exception, took too long or could not be reached, a simulator
//! that died. The word of one worker that is not trusted is not enough: another host runs the episode again.

use assay_model::{AttemptNote, EpisodeResult, Fence, NoteOrigin, PolicyErrorCode, ResultOutcome};
use assay_store::{Claim, Lease, WorkerRecord};

use crate::claim_pauses::ClaimPauses;
use crate::http::ApiError;
use crate::state::App;

/// The weight of a failure that a worker reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// Another worker reported a failure of the same episode.
    Given,
    /// There are other places to run the episode, and none has reported it.
    Needed,
    /// None of them did, or there is none.
    Impossible,
}

/// Returns the weight of a failure that a worker reports.
pub(super) fn confirmation(app: &App, worker: &WorkerRecord, claim: &Claim, result: &EpisodeResult) -> Confirmation {
    let reporters = claim.notes.iter().filter_map(|note| match note {
        AttemptNote::Failed { episode, origin, .. } if *episode == result.episode => Some(origin.worker.as_str()),
        _ => None,
    });
    let reporters: Vec<&str> = reporters.collect();
    if reporters.iter().any(|reporter| *reporter != worker.name.as_str()) {
        Confirmation::Given
    } else if reporters.is_empty() && app.worker_fleet.has_others(app.server_lanes()) {
        Confirmation::Needed
    } else {
        Confirmation::Impossible
    }
}

/// Notes a reported failure, and leaves the shard to others.
pub(super) async fn run_elsewhere(
    app: &App,
    worker: &WorkerRecord,
    claim: &Claim,
    result: &EpisodeResult,
) -> Result<ResultOutcome, ApiError> {
    let (fence, episode) = (claim.fence, result.episode);
    let code = result.error.as_ref().map_or(PolicyErrorCode::CutOff, |error| error.code.clone());
    tracing::warn!(
        worker = %worker.name,
        job.id = %fence.job_id,
        episode,
        %code,
        "one worker reports that an episode failed: it runs again elsewhere"
    );
    let origin = NoteOrigin { worker: worker.name.to_string(), claim: fence.attempt };
    if app.records.note_attempt(fence, AttemptNote::Failed { episode, code, origin }).await? == Lease::Held {
        let shard = (fence.job_id, fence.shard);
        ClaimPauses(&*app.records).leave_to_others(&worker.name, shard, app.clock.now()).await?;
        hand_on(app, fence).await?;
    }
    Ok(ResultOutcome::Fenced)
}

/// Queues a shard for other places.
pub(super) async fn hand_on(app: &App, fence: Fence) -> Result<(), ApiError> {
    app.records.release_shard(fence).await?;
    app.queue.publish(assay_store::Work::Shard { job_id: fence.job_id, shard: fence.shard }).await;
    Ok(())
}
