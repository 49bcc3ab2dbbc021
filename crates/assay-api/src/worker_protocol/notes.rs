//! `POST /worker/v1/leases/{lease}/notes`: a fact about an unfinished episode. A critical violation stands from here
//! on, whatever becomes of the worker; one that comes from a worker that is not trusted names it.

use assay_model::{AttemptNote, Level, NoteOrigin, NoteRequest, ReplacedAttempt, ReplacementReason, Violation};
use assay_store::{Claim, Lease, WorkerRecord};
use axum::extract::{Request, State};
use axum::http::StatusCode;

use super::inputs::missing;
use super::lease::{HeldShard, lost};
use super::receive;
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Maximum number of violations of an episode that a worker reports. The records bound the notes of other kinds.
const MAX_VIOLATIONS: usize = 128;

pub(super) async fn handle(State(app): State<App>, held: HeldShard, request: Request) -> Result<StatusCode, ApiError> {
    let NoteRequest { note } = receive::json(&app, &held.worker.name, request).await?;
    let episode = note.episode();
    if !held.claim.episodes.contains(&episode) {
        return Err(ApiError::invalid("note", None, format!("episode {episode} is not in this shard")));
    }
    if let AttemptNote::Violated { violation, .. } = &note {
        require_possible(&app, &held.claim, violation).await?;
    }
    let note = checked(note, &held.worker, &held.claim)?;
    if is_known(&note, &held.claim)? {
        return Ok(StatusCode::NO_CONTENT);
    }
    match app.records.note_attempt(held.claim.fence, note).await? {
        Lease::Held => Ok(StatusCode::NO_CONTENT),
        Lease::Lost => Err(lost()),
    }
}

/// Returns true if the worker reported this violation before, so that others find room for theirs.
fn is_known(note: &AttemptNote, claim: &Claim) -> Result<bool, ApiError> {
    let AttemptNote::Violated { episode, violation, origin: Some(origin) } = note else { return Ok(false) };
    let own = claim.notes.iter().filter_map(|known| match known {
        AttemptNote::Violated { episode: of, violation, origin: Some(by) } => {
            (of == episode && by.worker == origin.worker).then_some((&violation.clause, by.claim))
        }
        _ => None,
    });
    let own: Vec<_> = own.collect();
    let is_known = own.contains(&(&violation.clause, origin.claim));
    if !is_known && own.len() >= MAX_VIOLATIONS {
        let message = format!("a worker reports at most {MAX_VIOLATIONS} violations of an episode");
        return Err(ApiError::invalid("note", None, message));
    }
    Ok(is_known)
}

/// Refuses a violation that no episode of the job can have: it would stand, and leave the job without a verdict.
///
/// # Errors
/// 422: the scenario has no such critical clause, or no such time; 503: the scenario is missing.
async fn require_possible(app: &App, claim: &Claim, violation: &Violation) -> Result<(), ApiError> {
    let header = &claim.header;
    let spec = app.version_spec(&header.scenario, header.scenario_digest).await.map_err(|error| {
        tracing::error!(job.id = %claim.fence.job_id, ?error, "could not check a violation");
        missing("the scenario")
    })?;
    let refused = |why: String| Err(ApiError::new(ErrorCode::Unprocessable, why));
    let clause = spec.clauses.iter().find(|clause| clause.id == violation.clause);
    let Some(clause) = clause.filter(|clause| clause.level == Level::Critical) else {
        return refused("the scenario has no critical clause of this name".to_owned());
    };
    if clause.limit.to_bits() != violation.limit.to_bits() || clause.unit != violation.unit {
        return refused(format!("clause {} has another limit", clause.id));
    }
    if violation.robustness.is_some_and(|robustness| robustness >= 0.0) {
        return refused("a violation has a negative robustness".to_owned());
    }
    let last = f64::from(spec.time_limit_s) + 1.0 / spec.control_hz;
    let (start_s, end_s) = (violation.start_s, violation.end_s);
    if !(0.0 <= start_s && start_s <= end_s && end_s <= last) {
        return refused(format!("an episode of this scenario ends after {} s", spec.time_limit_s));
    }
    Ok(())
}

/// Returns the note with clean texts and, if the worker is not trusted, with its name.
fn checked(note: AttemptNote, worker: &WorkerRecord, claim: &Claim) -> Result<AttemptNote, ApiError> {
    match note {
        AttemptNote::Replaced(replaced) => {
            // The others are findings of the server.
            let is_observed = matches!(
                replaced.reason,
                ReplacementReason::LaneDied
                    | ReplacementReason::PolicyStopped
                    | ReplacementReason::PolicyKilled
                    | ReplacementReason::ServiceStopped
                    | ReplacementReason::Outage
            );
            if !is_observed {
                return Err(ApiError::invalid("note", None, "a worker does not observe this reason"));
            }
            Ok(AttemptNote::Replaced(ReplacedAttempt::new(replaced.episode, replaced.reason, &replaced.evidence)))
        }
        AttemptNote::Failed { .. } => Err(ApiError::invalid("note", None, "failures are reported as results")),
        AttemptNote::Violated { episode, violation, .. } => {
            if violation.level != Level::Critical {
                return Err(ApiError::invalid("note", None, "only violations of critical clauses are noted"));
            }
            let violation = Violation { involved: Vec::new(), ..violation };
            let origin = NoteOrigin { worker: worker.name.to_string(), claim: claim.fence.attempt };
            Ok(AttemptNote::Violated { episode, violation, origin: Some(origin).filter(|_| !worker.trusted) })
        }
    }
}
