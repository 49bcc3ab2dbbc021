//! The audit of a reported episode: its evidence is what it should be, and its result follows from it.

use std::collections::BTreeSet;

use assay_model::lane::files;
use assay_model::{AttemptNote, EpisodeResult, ErrorChain, Fence, MAX_EPISODE_EVIDENCE_BYTES, Termination};
use assay_store::{Claim, WorkerRecord, is_disk_full, seeds_of_job};
use jiff::SignedDuration;
use tempfile::TempDir;

use crate::blob_error::blob_error;
use crate::claim_pauses::ClaimPauses;
use crate::disk::disk_error;
use crate::http::{ApiError, ErrorCode};
use crate::state::App;
use crate::{AuditFinding, EpisodeToAudit};

/// Maximum number of files of an episode's evidence.
const MAX_FILES: usize = 16;
/// Number of failed audits of a result after which its shard is handed back.
const AUDIT_TRIES: u32 = 3;
/// Reason for postponing a shard whose results could not be audited.
const NOT_AUDITED: &str = "its results could not be audited";
/// Time until such a shard may be claimed again.
const HANDED_BACK: SignedDuration = SignedDuration::from_secs(30);

/// Checks the evidence that a result lists, and audits it. Returns `None` if the audit failed too often: the shard is
/// handed back.
pub(super) async fn audit(
    app: &App,
    worker: &WorkerRecord,
    claim: &Claim,
    result: EpisodeResult,
) -> Result<Option<AuditFinding>, ApiError> {
    if let Some(problem) = wrong_list(claim, &result) {
        return Ok(Some(AuditFinding::Refuted(problem)));
    }
    require_size(&result)?;
    let job = claim.fence.job_id;
    for file in &result.evidence {
        let size = app.blobs.size(job, file.sha256).await;
        match size {
            Ok(size) if size == file.size_bytes => {}
            Ok(_) => return Ok(Some(AuditFinding::Refuted(format!("{} has another size", file.name)))),
            Err(assay_store::BlobError::Missing) => {
                let message = format!("{} was not stored before the result", file.name);
                return Err(ApiError::new(ErrorCode::Unprocessable, message));
            }
            Err(error) => return Err(blob_error(app, error)),
        }
    }
    let seeds = seeds_of_job(&*app.records, &claim.header).await?;
    let seeds = seeds.ok_or_else(|| ApiError::new(ErrorCode::Conflict, "the season of the job is gone"))?;
    let (trace, _work) = trace(app, claim, &result).await?.unzip();
    let number = result.episode;
    let is_same_machine = is_same_machine(app, worker);
    // Whether the physics became unstable is always checked.
    let restep = result.termination == Termination::Unstable || is_drawn(app, claim, number);
    let episode = EpisodeToAudit {
        scenario: claim.header.scenario.clone(),
        scenario_digest: claim.header.scenario_digest,
        seeds: seeds.episode(number),
        claimed: result,
        claim: claim.fence.attempt,
        notes: claim.notes.iter().filter(|note| AttemptNote::episode(note) == number).cloned().collect(),
        trace,
        is_same_machine,
        restep: is_same_machine && restep,
    };
    let (auditor, permit) = (app.auditor.clone(), app.audit_slots.clone().acquire_owned().await);
    let audited = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        auditor.audit(&episode)
    });
    let audited = audited.await.map_err(|e| ApiError::internal("an audit panicked", &e))?;
    match audited {
        Ok(finding) => Ok(Some(finding)),
        Err(error) => not_audited(app, worker, (claim.fence, number), error).await.map(|()| None),
    }
}

/// Asks for the result again after an audit that could not be done; after the last try, hands the shard back.
async fn not_audited(
    app: &App,
    worker: &WorkerRecord,
    (fence, episode): (Fence, u32),
    error: Box<dyn std::error::Error + Send + Sync>,
) -> Result<(), ApiError> {
    tracing::error!(job.id = %fence.job_id, episode, error = %ErrorChain(&*error), "could not audit an episode");
    // A full disk is an outage, and says nothing about the episode.
    let is_disk_full = is_disk_full(&*error);
    drop(error);
    if is_disk_full || app.records.count_failed_audit(fence, episode).await? < AUDIT_TRIES {
        let message = "the result could not be audited now; send it again";
        return Err(ApiError::try_again(ErrorCode::Unavailable, message, 5));
    }
    tracing::error!(
        worker = %worker.name,
        job.id = %fence.job_id,
        shard = fence.shard,
        "an audit failed repeatedly: the shard is handed back; check this server with assay doctor --jail"
    );
    let now = app.clock.now();
    ClaimPauses(&*app.records).failed(&worker.name, fence.job_id, now).await?;
    // Nothing is known about the episode, so it counts as no failure of the shard.
    app.records.postpone_shard(fence, now.saturating_add(HANDED_BACK).unwrap_or(now), NOT_AUDITED).await?;
    Ok(())
}

/// Returns what is wrong with the list of evidence.
fn wrong_list(claim: &Claim, result: &EpisodeResult) -> Option<String> {
    let prefix = format!("episodes/{:03}/", result.episode);
    // Log and video of a showcase come with the result; all others are rendered on the server.
    let is_showcase = claim.header.arena.is_some() && result.episode >= claim.header.plan.episodes;
    let rendered = [files::LOG, files::LOG_STATEMENT, files::VIDEO_STATEMENT].into_iter().chain(files::PICTURED);
    let more = rendered.filter(|_| is_showcase).chain([files::OBSERVATIONS]);
    let known: BTreeSet<&str> = files::STEPPED.into_iter().chain(more).collect();
    let mut seen = BTreeSet::new();
    for file in &result.evidence {
        let name = file.name.strip_prefix(&prefix);
        if !name.is_some_and(|name| known.contains(name) && seen.insert(name.to_owned())) {
            return Some(format!("{:?} is not a file of its evidence", file.name));
        }
    }
    if result.evidence.len() > MAX_FILES {
        return Some(format!("its evidence has more than {MAX_FILES} files"));
    }
    let is_own = |path: &Option<String>| path.as_ref().is_none_or(|path| result.has_evidence(path));
    let whole = result.evidence.is_empty() || files::STEPPED.iter().all(|name| seen.contains(*name));
    if !is_own(&result.video_path) || !is_own(&result.log_path) || !whole || result.judge.is_some() {
        return Some("its list of evidence is not that of an episode".to_owned());
    }
    None
}

/// Refuses a result with too much evidence. That is no sign of a false report: a scenario decides how long a recording
/// gets.
///
/// # Errors
/// 413.
fn require_size(result: &EpisodeResult) -> Result<(), ApiError> {
    let bytes: u64 = result.evidence.iter().map(|file| file.size_bytes).fold(0, u64::saturating_add);
    if bytes <= MAX_EPISODE_EVIDENCE_BYTES {
        return Ok(());
    }
    let message = format!("the evidence has {bytes} bytes; that of an episode may have {MAX_EPISODE_EVIDENCE_BYTES}");
    Err(ApiError::new(ErrorCode::PayloadTooLarge, message))
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
    let copied = app.blobs.copy_trace_to(claim.fence.job_id, file.sha256, &path).await;
    copied.map_err(|error| blob_error(app, error))?;
    Ok(Some((path, work)))
}

/// Returns true if the worker's machine computes the same bits as this one: otherwise its episodes can't be stepped
/// here.
fn is_same_machine(app: &App, worker: &WorkerRecord) -> bool {
    let here = app.fingerprint.digest();
    worker.registration.as_ref().is_some_and(|worker| worker.machine.digest() == here)
}

/// Returns true if the physics of this episode are to run again: once in `workers.restep_one_in` on average. The choice
/// is fixed for each claim of an episode by a secret: sending a result again changes nothing, and the time that an
/// audit takes says nothing about a later claim.
fn is_drawn(app: &App, claim: &Claim, episode: u32) -> bool {
    let one_in = u64::from(app.settings.workers.restep_one_in);
    let drawn =
        app.signer.draw(b"restep", format!("{}/{episode}/{}", claim.fence.job_id, claim.fence.attempt).as_bytes());
    one_in > 0 && drawn.is_multiple_of(one_in)
}
