//! `POST /worker/v1/leases/{lease}/notes`: a fact about an unfinished episode. A critical violation stands from here
//! on, whatever becomes of the worker; one that comes from a worker that is not trusted names it.

use assay_model::{
    AttemptNote, Level, NoteOrigin, NoteRequest, ReplacedAttempt, ReplacementReason, Violation, sanitise,
};
use assay_store::{Claim, Lease, WorkerRecord};
use axum::extract::{Request, State};
use axum::http::StatusCode;

use super::lease::{HeldShard, lost};
use super::receive;
use crate::http::ApiError;
use crate::state::App;

/// Maximum number of violations of an episode that a worker reports. The records bound the notes of other kinds.
const MAX_VIOLATIONS: usize = 128;
/// Maximum length of a text in a violation, in bytes.
const MAX_TEXT_BYTES: usize = 64;

pub(super) async fn handle(State(app): State<App>, held: HeldShard, request: Request) -> Result<StatusCode, ApiError> {
    let NoteRequest { note } = receive::json(&app, request).await?;
    let episode = note.episode();
    if !held.claim.episodes.contains(&episode) {
        return Err(ApiError::invalid("note", None, format!("episode {episode} is not in this shard")));
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
            if violation.level != Level::Critical || violation.clause.len() > MAX_TEXT_BYTES {
                return Err(ApiError::invalid("note", None, "only violations of critical clauses are noted"));
            }
            let unit = sanitise(&violation.unit, MAX_TEXT_BYTES);
            let violation = Violation { unit, involved: Vec::new(), ..violation };
            let origin = NoteOrigin { worker: worker.name.to_string(), claim: claim.fence.attempt };
            Ok(AttemptNote::Violated { episode, violation, origin: Some(origin).filter(|_| !worker.trusted) })
        }
    }
}
