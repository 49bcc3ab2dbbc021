//! `POST /worker/v1/leases/{lease}/notes`: a fact about an unfinished episode. A critical violation stands from here
//! on, whatever becomes of the worker.

use assay_model::{AttemptNote, Level, NoteRequest, ReplacedAttempt, Violation, sanitise};
use assay_store::Lease;
use axum::extract::{Request, State};
use axum::http::StatusCode;

use super::lease::{HeldShard, lost};
use super::receive;
use crate::http::ApiError;
use crate::state::App;

/// Maximum number of notes of an episode.
const MAX_NOTES: usize = 128;
/// Maximum length of a text in a violation, in bytes.
const MAX_TEXT_BYTES: usize = 64;

pub(super) async fn handle(State(app): State<App>, held: HeldShard, request: Request) -> Result<StatusCode, ApiError> {
    let NoteRequest { note } = receive::json(&app, request).await?;
    let episode = note.episode();
    if !held.claim.episodes.contains(&episode) {
        return Err(ApiError::invalid("note", None, format!("episode {episode} is not in this shard")));
    }
    if held.claim.notes.iter().filter(|known| known.episode() == episode).count() >= MAX_NOTES {
        return Err(ApiError::invalid("note", None, format!("an episode has at most {MAX_NOTES} notes")));
    }
    match app.records.note_attempt(held.claim.fence, checked(note)?).await? {
        Lease::Held => Ok(StatusCode::NO_CONTENT),
        Lease::Lost => Err(lost()),
    }
}

/// Returns the note with clean texts.
fn checked(note: AttemptNote) -> Result<AttemptNote, ApiError> {
    match note {
        AttemptNote::Replaced(replaced) => {
            Ok(AttemptNote::Replaced(ReplacedAttempt::new(replaced.episode, replaced.reason, &replaced.evidence)))
        }
        AttemptNote::Violated { episode, violation } => {
            if violation.level != Level::Critical || violation.clause.len() > MAX_TEXT_BYTES {
                return Err(ApiError::invalid("note", None, "only violations of critical clauses are noted"));
            }
            let unit = sanitise(&violation.unit, MAX_TEXT_BYTES);
            let violation = Violation { unit, involved: Vec::new(), ..violation };
            Ok(AttemptNote::Violated { episode, violation })
        }
    }
}
