//! `POST /worker/v1/claim`: hands out a shard, or waits for one.

use std::time::Duration;

use assay_model::{
    AccountId, AttemptNote, ClaimAnswer, ClaimRequest, Fingerprint, LeasedShard, MAX_CLAIM_WAIT_S, SeedSource,
    WantedShard, episode_share,
};
use assay_store::{
    Claim, Confinement, ShardKind, ShardRequest, WorkerCapabilities, WorkerRecord, WorkerState, seeds_of_job,
};
use axum::extract::{Request, State};
use jiff::SignedDuration;
use tokio::time::Instant;

use super::identity::RegisteredWorker;
use super::lease::lease_text;
use super::{receive, unconfirmed};
use crate::claim_pauses::ClaimPauses;
use crate::http::{ApiError, Json};
use crate::state::App;

/// Maximum number of shards that a worker holds for each lane: its own, and those that relieve sleeping policies.
const LEASES_PER_LANE: u32 = 3;
/// Maximum number of shards of policy servers, which need no lane of their own.
const SERVER_LEASES: u32 = 4;
/// Maximum number of excluded accounts.
const MAX_EXCLUDED: usize = 1024;

/// Returns the duration of a lease.
pub(super) fn lease_duration(app: &App) -> SignedDuration {
    SignedDuration::from_secs(app.settings.intervals.worker_lease_s.into())
}

pub(super) async fn handle(
    State(app): State<App>,
    mut worker: RegisteredWorker,
    request: Request,
) -> Result<Json<ClaimAnswer>, ApiError> {
    // Thousands of claims wait, so what they call meanwhile is boxed: its variables take no memory while they wait.
    let request: ClaimRequest = Box::pin(receive::json(&app, &worker.0.name, request)).await?;
    if request.excluded_accounts.len() > MAX_EXCLUDED {
        let message = format!("at most {MAX_EXCLUDED} accounts can be excluded");
        return Err(ApiError::invalid("excluded_accounts", None, message));
    }
    let wait = Duration::from_secs(request.wait_s.min(MAX_CLAIM_WAIT_S).into());
    let began = Instant::now();
    let until = began + wait;
    let answer = |shard, drain, waited: Duration| {
        Json(ClaimAnswer { shard, waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX), drain })
    };
    // A request that may wait shares a look with the others.
    let mut passed_on = app.worker_fleet.queued();
    let mut looks = wait.is_zero() || Box::pin(app.worker_fleet.sees_work(&*app.records)).await?;
    loop {
        // Before the checks, so that a change between them and the wait is not missed.
        let waiting = app.worker_fleet.waiting_for(request.wanted).join();
        let or_server = request.or_server.then(|| app.worker_fleet.waiting_for(WantedShard::Server).join());
        if worker.0.state == WorkerState::Draining {
            return Ok(answer(None, true, began.elapsed()));
        }
        let waited = began.elapsed();
        if looks && let Some(shard) = Box::pin(next(&app, &worker.0, &request)).await? {
            return Ok(answer(Some(shard), false, waited));
        }
        // A shard that this worker cannot run may be for one behind it. All look in turn, once for each shard.
        let queued = app.worker_fleet.queued();
        if looks && queued != std::mem::replace(&mut passed_on, queued) {
            kinds(&request).for_each(|kind| app.worker_fleet.waiting_for(kind).wake_one());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || app.readiness.get().is_err() {
            return Ok(answer(None, false, began.elapsed()));
        }
        // It is read again before the next look.
        worker.0.registration = None;
        // A claim writes, and a thousand idle workers wait all the time: those that nobody wakes do not look again.
        looks = waiting.or(or_server).wait(left).await && app.readiness.get().is_ok();
        // The worker's next request meets a change of its state otherwise.
        if looks {
            worker.0 = Box::pin(worker.again(&app)).await?;
        }
    }
}

/// Returns the kinds of shards that a request asks for, the preferred one first.
fn kinds(request: &ClaimRequest) -> impl Iterator<Item = WantedShard> + use<> {
    [Some(request.wanted), request.or_server.then_some(WantedShard::Server)].into_iter().flatten()
}

/// Returns a shard of a kind that the request asks for.
async fn next(app: &App, worker: &WorkerRecord, request: &ClaimRequest) -> Result<Option<LeasedShard>, ApiError> {
    for kind in kinds(request) {
        if let Some(shard) = next_of(app, worker, (kind, &request.excluded_accounts)).await? {
            return Ok(Some(shard));
        }
    }
    Ok(None)
}

async fn next_of(
    app: &App,
    worker: &WorkerRecord,
    (wanted, excluded_accounts): (WantedShard, &[AccountId]),
) -> Result<Option<LeasedShard>, ApiError> {
    let Some(registration) = &worker.registration else { return Ok(None) };
    let most = registration.lanes.saturating_mul(LEASES_PER_LANE).saturating_add(SERVER_LEASES);
    if worker.shards >= most {
        return Ok(None);
    }
    let here = app.fingerprint.digest() == registration.machine.digest();
    // Results of a season are comparable only on the machine that it was opened for.
    let trust = if worker.trusted && here { Confinement::Trusted } else { Confinement::Anywhere };
    let kind = match wanted {
        WantedShard::Policy => ShardKind::Policy,
        WantedShard::Secret => ShardKind::Secret,
        WantedShard::Server => ShardKind::Server,
    };
    let capabilities = WorkerCapabilities {
        machine: Some(registration.machine.clone()),
        runtimes: Some(app.worker_fleet.runtimes_of(registration)),
        cameras: registration.cameras,
        memory_mib: registration.memory_mib,
        trust,
        labels: registration.labels.clone(),
    };
    let now = app.clock.now();
    let has_others = app.worker_fleet.has_others(app.server_lanes());
    let pauses = ClaimPauses(&*app.records);
    let excluded_shards =
        if has_others { pauses.excluded(&worker.name, worker.shards, now).await? } else { Vec::new() };
    let wanted = ShardRequest { capabilities, excluded_shards, ..ShardRequest::new(&worker.name.lease_holder()) };
    let wanted = wanted.of_kind(kind).excluding(excluded_accounts);
    let claim = app.records.claim_shard(&wanted, now, lease_duration(app)).await?;
    let Some(claim) = claim else { return Ok(None) };
    // Its other claims may have been answered since this one began.
    let held = app.records.worker_named(&worker.name).await?.map_or(0, |worker| worker.shards);
    if held > most || has_others && is_left_to_others(app, worker, &claim).await? {
        unconfirmed::hand_on(app, claim.fence).await?;
        return Ok(None);
    }
    pauses.claimed(&worker.name, claim.fence.job_id, now).await?;
    let Some(seeds) = seeds(app, &claim, &registration.machine).await? else { return Ok(None) };
    let share = episode_share(app.settings.max_evidence_bytes, claim.header.episodes_to_run());
    tracing::info!(job.id = %claim.fence.job_id, shard = claim.fence.shard, worker = %worker.name, "shard claimed");
    let lease = lease_text(app, worker, claim.fence);
    let mut assignment = claim.assignment(&seeds, share);
    assignment.notes = claim.notes.iter().map(AttemptNote::without_origin).collect();
    Ok(Some(LeasedShard { lease, assignment }))
}

/// Returns true if the worker reported a failure in this shard that another is to confirm.
async fn is_left_to_others(app: &App, worker: &WorkerRecord, claim: &Claim) -> Result<bool, ApiError> {
    let name = worker.name.as_str();
    // The notes are those of the episodes that have no result.
    let is_own = |note: &AttemptNote| matches!(note, AttemptNote::Failed { origin, .. } if origin.worker == name);
    if !claim.notes.iter().any(is_own) {
        return Ok(false);
    }
    let shard = (claim.fence.job_id, claim.fence.shard);
    Ok(ClaimPauses(&*app.records).leave_to_others(&worker.name, shard, app.clock.now()).await?)
}

/// Returns the source of the claim's seeds; gives the shard back if it has none on this machine.
async fn seeds(app: &App, claim: &Claim, machine: &Fingerprint) -> Result<Option<SeedSource>, ApiError> {
    let header = &claim.header;
    let mut problem = None;
    if let Some(entry) = &header.arena {
        let season = app.records.season(&header.scenario, Some(entry.season)).await?;
        let difference = season.and_then(|season| {
            let pinned = season.pins.fingerprint;
            let runtime =
                Fingerprint { runtime: pinned.runtime.clone(), numpy: pinned.numpy.clone(), ..machine.clone() };
            pinned.differences(&runtime).into_iter().next()
        });
        problem = difference.map(|difference| {
            format!(
                "season {} was opened with a different {}; run its entries on a matching worker",
                entry.season, difference.name
            )
        });
    }
    let seeds = seeds_of_job(&*app.records, header).await?;
    match (problem, seeds) {
        (None, Some(seeds)) => Ok(Some(seeds)),
        (problem, _) => {
            let reason = problem.unwrap_or_else(|| "the season of the job is not in the records".to_owned());
            tracing::error!(job.id = %claim.fence.job_id, reason, "shard failed");
            app.records.fail_shard(claim.fence, &reason, app.clock.now()).await?;
            Ok(None)
        }
    }
}
