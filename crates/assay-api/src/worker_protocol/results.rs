//! `POST /worker/v1/results`: records results. Each is recomputed here from its trace, and for some of them, the
//! physics is run again under the recorded actions, before they count. A worker whose result does not follow is
//! quarantined.

use assay_model::{EpisodeResult, Fence, LeasedResult, MAX_RESULTS, ResultOutcome, ResultsAnswer, ResultsRequest};
use assay_store::{Claim, RecordOutcome, Work, WorkerRecord};
use axum::extract::{Request, State};
use futures_util::future::join_all;

use super::audit::audit;
use super::identity::RegisteredWorker;
use super::lease::fence;
use super::receive;
use super::reported::{MAX_RESULT_BYTES, cleaned};
use super::unconfirmed::{Confirmation, confirmation, run_elsewhere};
use crate::AuditFinding;
use crate::blob_error::blob_error;
use crate::http::{ApiError, ErrorCode, Json};
use crate::state::App;

pub(super) async fn handle(
    State(app): State<App>,
    RegisteredWorker(worker): RegisteredWorker,
    request: Request,
) -> Result<Json<ResultsAnswer>, ApiError> {
    // Until all of them are recorded: they take memory while they wait for their audits.
    let (request, _turn) = receive::json_in_turn::<ResultsRequest>(&app, &worker.name, request).await?;
    if request.results.len() > MAX_RESULTS {
        return Err(ApiError::invalid("results", None, format!("at most {MAX_RESULTS} results can be sent at once")));
    }
    // All audits may run at the same time. A result that is refused does not affect the others, although the worker
    // learns of nothing else.
    let outcomes = join_all(request.results.into_iter().map(|leased| received(&app, &worker, leased))).await;
    Ok(Json(ResultsAnswer { outcomes: outcomes.into_iter().collect::<Result<_, ApiError>>()? }))
}

/// Audits and records a result.
async fn received(app: &App, worker: &WorkerRecord, leased: LeasedResult) -> Result<ResultOutcome, ApiError> {
    let fence = fence(app, worker, &leased.lease)?;
    let turn = app.worker_fleet.audit_turn(fence, leased.result.episode).lock_owned().await;
    let claim = app.records.leased_shard(fence).await?;
    match claim {
        Some(claim) if claim.episodes.contains(&leased.result.episode) => {
            let (app, worker) = (app.clone(), worker.clone());
            // On a task of its own: a worker that hangs up does not escape the finding.
            let recorded = tokio::spawn(async move {
                let _turn = turn;
                record(&app, &worker, &claim, leased.result).await
            });
            recorded.await.map_err(|e| ApiError::internal("recording a result panicked", &e))?
        }
        // Also the repetition of a result that completed the shard.
        _ => repeat(app, fence, leased.result).await,
    }
}

/// Records nothing new: reports whether the result was recorded before by this claim.
async fn repeat(app: &App, fence: Fence, result: EpisodeResult) -> Result<ResultOutcome, ApiError> {
    Ok(match app.records.is_recorded(fence, result.episode).await? {
        true => ResultOutcome::Duplicate,
        false => ResultOutcome::Fenced,
    })
}

async fn record(
    app: &App,
    worker: &WorkerRecord,
    claim: &Claim,
    result: EpisodeResult,
) -> Result<ResultOutcome, ApiError> {
    if serde_json::to_vec(&result).is_ok_and(|text| text.len() > MAX_RESULT_BYTES) {
        let message = format!("a result has at most {MAX_RESULT_BYTES} bytes");
        return Err(ApiError::new(ErrorCode::PayloadTooLarge, message));
    }
    let result = cleaned(result, &claim.notes);
    let episode = result.episode;
    let result = match audit(app, worker, claim, result).await? {
        Some(AuditFinding::Refuted(problem)) => return Err(quarantine(app, worker, claim, episode, &problem).await?),
        Some(AuditFinding::Confirmed { result, shows_end }) => {
            match weighed(app, worker, claim, (*result, shows_end)).await? {
                Ok(result) => result,
                Err(outcome) => return Ok(outcome),
            }
        }
        None => return Ok(ResultOutcome::Fenced),
    };
    let (fence, now) = (claim.fence, app.clock.now());
    if !result.evidence.is_empty() {
        app.blobs.settle(fence.job_id).await.map_err(|error| blob_error(app, error))?;
    }
    let hashes: Vec<_> = result.evidence.iter().map(|file| file.sha256).collect();
    app.live.end(fence.job_id, result.episode);
    Ok(match app.records.record_episode(fence, result, now).await? {
        RecordOutcome::New { left_in_shard, left_in_job } => {
            if left_in_job == 0 {
                app.queue.publish(Work::Conclusion { job_id: fence.job_id }).await;
            } else {
                pack(app, fence.job_id, hashes);
            }
            ResultOutcome::New { left_in_shard, left_in_job }
        }
        RecordOutcome::Duplicate => ResultOutcome::Duplicate,
        RecordOutcome::Fenced => ResultOutcome::Fenced,
    })
}

/// Returns the result as it counts, or the outcome if it does not count yet: of a failure that no trace shows, one
/// worker that is not trusted has no proof.
async fn weighed(
    app: &App,
    worker: &WorkerRecord,
    claim: &Claim,
    (mut result, shows_end): (EpisodeResult, bool),
) -> Result<Result<EpisodeResult, ResultOutcome>, ApiError> {
    if shows_end || worker.trusted {
        return Ok(Ok(result));
    }
    match confirmation(app, worker, claim, &result) {
        Confirmation::Needed => return Ok(Err(run_elsewhere(app, worker, claim, &result).await?)),
        Confirmation::Given => {
            app.records.confirm_left_shard(claim.fence.job_id, claim.fence.shard).await?;
        }
        Confirmation::Impossible => {
            result.add_unconfirmed(format!("worker {} alone reported that the episode failed", worker.name));
        }
    }
    Ok(Ok(result))
}

/// Compresses evidence in the background; that of a job's last episode follows its verdict.
fn pack(app: &App, job: assay_model::JobId, hashes: Vec<assay_model::Sha256Digest>) {
    let blobs = app.blobs.clone();
    tokio::spawn(async move {
        for sha256 in hashes {
            if let Err(error) = blobs.pack(job, sha256).await {
                tracing::warn!(job.id = %job, %sha256, %error, "could not compress evidence");
            }
        }
    });
}

async fn quarantine(
    app: &App,
    worker: &WorkerRecord,
    claim: &Claim,
    episode: u32,
    problem: &str,
) -> Result<ApiError, ApiError> {
    let job = claim.fence.job_id;
    let reason = format!("episode {episode} of job {job}: {problem}");
    let removal = app.records.quarantine_worker(&worker.name, &reason, app.clock.now()).await?;
    let removal = removal.unwrap_or_default();
    tracing::error!(
        worker = %worker.name,
        job.id = %job,
        episode,
        problem,
        discarded = removal.discarded.len(),
        concluded = removal.concluded.len(),
        "worker quarantined: its result does not follow from its evidence"
    );
    for work in removal.requeued {
        app.queue.publish(work).await;
    }
    app.give_back_tasks(&worker.name);
    let message = format!("worker {} is quarantined: {reason}", worker.name);
    Ok(ApiError::new(ErrorCode::Forbidden, message))
}
