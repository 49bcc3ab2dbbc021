//! `POST /worker/v1/results`: records results. Each is recomputed here from its trace, and of some the physics runs
//! again under the recorded actions, before it counts. A worker whose result does not follow is quarantined.

use std::collections::BTreeSet;

use assay_model::lane::files;
use assay_model::{
    AttemptNote, EpisodeResult, MAX_RESULTS, ResultOutcome, ResultsAnswer, ResultsRequest, episode_share,
};
use assay_store::{Claim, RecordOutcome, Work, WorkerRecord, seeds_of_job};
use axum::extract::{Request, State};
use tempfile::TempDir;

use super::identity::RegisteredWorker;
use super::lease::fence;
use super::receive;
use super::reported::{MAX_RESULT_BYTES, cleaned};
use crate::blob_error::blob_error;
use crate::disk::disk_error;
use crate::http::{ApiError, ErrorCode, Json};
use crate::state::App;
use crate::{AuditFinding, EpisodeToAudit};

/// Maximum number of files of an episode's evidence.
const MAX_FILES: usize = 16;

pub(super) async fn handle(
    State(app): State<App>,
    RegisteredWorker(worker): RegisteredWorker,
    request: Request,
) -> Result<Json<ResultsAnswer>, ApiError> {
    let request: ResultsRequest = receive::json(&app, request).await?;
    if request.results.len() > MAX_RESULTS {
        return Err(ApiError::invalid("results", None, format!("at most {MAX_RESULTS} results can be sent at once")));
    }
    let mut outcomes = Vec::new();
    for leased in request.results {
        let fence = fence(&app, &worker, &leased.lease)?;
        let claim = app.records.leased_shard(fence).await?;
        outcomes.push(match claim {
            Some(claim) if claim.episodes.contains(&leased.result.episode) => {
                let (app, worker) = (app.clone(), worker.clone());
                // On a task of its own: a worker that hangs up does not escape the finding.
                let recorded = tokio::spawn(async move { record(&app, &worker, &claim, leased.result).await });
                recorded.await.map_err(|e| ApiError::internal("recording a result panicked", &e))??
            }
            // Also the repetition of a result that completed the shard.
            _ => repeat(&app, fence, leased.result).await?,
        });
    }
    Ok(Json(ResultsAnswer { outcomes }))
}

/// Records nothing new: tells whether the result was recorded before by this claim.
async fn repeat(app: &App, fence: assay_model::Fence, result: EpisodeResult) -> Result<ResultOutcome, ApiError> {
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
    if let AuditFinding::Refuted(problem) = audit(app, worker, claim, &result).await? {
        return Err(quarantine(app, worker, claim, result.episode, &problem).await?);
    }
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
    let message = format!("worker {} is quarantined: {reason}", worker.name);
    Ok(ApiError::new(ErrorCode::Forbidden, message))
}

/// Checks the evidence that a result lists, and audits it.
async fn audit(
    app: &App,
    worker: &WorkerRecord,
    claim: &Claim,
    result: &EpisodeResult,
) -> Result<AuditFinding, ApiError> {
    if let Some(problem) = wrong_list(app, claim, result) {
        return Ok(AuditFinding::Refuted(problem));
    }
    let job = claim.fence.job_id;
    for file in &result.evidence {
        let size = app.blobs.size(job, file.sha256).await;
        match size {
            Ok(size) if size == file.size_bytes => {}
            Ok(_) => return Ok(AuditFinding::Refuted(format!("{} has another size", file.name))),
            Err(assay_store::BlobError::Missing) => {
                let message = format!("{} was not stored before the result", file.name);
                return Err(ApiError::new(ErrorCode::Unprocessable, message));
            }
            Err(error) => return Err(blob_error(app, error)),
        }
    }
    let seeds = seeds_of_job(&*app.records, &claim.header).await?;
    let seeds = seeds.ok_or_else(|| ApiError::new(ErrorCode::Conflict, "the season of the job is gone"))?;
    let (trace, _work) = trace(app, claim, result).await?.unzip();
    let episode = EpisodeToAudit {
        scenario: claim.header.scenario.clone(),
        scenario_digest: claim.header.scenario_digest,
        seeds: seeds.episode(result.episode),
        claimed: result.clone(),
        notes: claim.notes.iter().filter(|note| AttemptNote::episode(note) == result.episode).cloned().collect(),
        trace,
        restep: is_drawn(app, worker, claim, result.episode),
    };
    let (auditor, permit) = (app.auditor.clone(), app.audit_slots.clone().acquire_owned().await);
    let audited = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        auditor.audit(&episode)
    });
    let audited = audited.await.map_err(|e| ApiError::internal("an audit panicked", &e))?;
    audited.map_err(|error| {
        tracing::error!(job.id = %job, error = %assay_model::ErrorChain(&*error), "could not audit an episode");
        ApiError::try_again(ErrorCode::Unavailable, "the result could not be audited now; send it again", 5)
    })
}

/// Returns what is wrong with the list of evidence.
fn wrong_list(app: &App, claim: &Claim, result: &EpisodeResult) -> Option<String> {
    let prefix = format!("episodes/{:03}/", result.episode);
    // Log and video of a showcase come with the result; all others are rendered on the server.
    let is_showcase = claim.header.arena.is_some() && result.episode >= claim.header.plan.episodes;
    let rendered = [files::LOG, files::LOG_STATEMENT, files::VIDEO, files::IMAGES, files::VIDEO_STATEMENT];
    let more = rendered.into_iter().filter(|_| is_showcase).chain([files::OBSERVATIONS]);
    let known: BTreeSet<&str> = files::STEPPED.into_iter().chain(more).collect();
    let mut seen = BTreeSet::new();
    for file in &result.evidence {
        let name = file.name.strip_prefix(&prefix);
        if !name.is_some_and(|name| known.contains(name) && seen.insert(name.to_owned())) {
            return Some(format!("{:?} is no file of its evidence", file.name));
        }
    }
    let bytes: u64 = result.evidence.iter().map(|file| file.size_bytes).fold(0, u64::saturating_add);
    let share = episode_share(app.settings.max_evidence_bytes, claim.header.episodes_to_run());
    if result.evidence.len() > MAX_FILES || bytes > share {
        return Some(format!("its evidence has {bytes} bytes, more than {share}"));
    }
    let is_own = |path: &Option<String>| path.as_ref().is_none_or(|path| result.has_evidence(path));
    let whole = result.evidence.is_empty() || files::STEPPED.iter().all(|name| seen.contains(*name));
    if !is_own(&result.video_path) || !is_own(&result.log_path) || !whole || result.judge.is_some() {
        return Some("its list of evidence is not that of an episode".to_owned());
    }
    None
}

/// Copies the trace to a folder of its own.
async fn trace(
    app: &App,
    claim: &Claim,
    result: &EpisodeResult,
) -> Result<Option<(std::path::PathBuf, TempDir)>, ApiError> {
    let Some(file) = result.evidence.iter().find(|file| file.name.ends_with(files::TRACE)) else { return Ok(None) };
    let work = app.blobs.incoming().map_err(|error| disk_error(app, &error))?;
    let path = work.path().join(files::TRACE);
    let copied = app.blobs.copy_to(claim.fence.job_id, file.sha256, &path).await;
    copied.map_err(|error| blob_error(app, error))?;
    Ok(Some((path, work)))
}

/// Returns true if the physics of this episode are to run again: once in `workers.restep_one_in` on average. The choice
/// is fixed for each claim of an episode by a secret: sending a result again changes nothing, and the time that an
/// audit takes says nothing about a later claim.
/// Machines with another fingerprint compute other bits, so their episodes are not stepped here.
fn is_drawn(app: &App, worker: &WorkerRecord, claim: &Claim, episode: u32) -> bool {
    let here = app.fingerprint.digest();
    let is_same_machine = worker.registration.as_ref().is_some_and(|worker| worker.machine.digest() == here);
    let one_in = u64::from(app.settings.workers.restep_one_in);
    let drawn =
        app.signer.draw(b"restep", format!("{}/{episode}/{}", claim.fence.job_id, claim.fence.attempt).as_bytes());
    is_same_machine && one_in > 0 && drawn.is_multiple_of(one_in)
}
