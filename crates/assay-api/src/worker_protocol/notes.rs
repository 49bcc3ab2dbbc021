//! `POST /worker/v1/leases/{lease}/notes`: a fact about an unfinished episode. A critical violation stands from here
//! on, whatever becomes of the worker.

use assay_model::NoteRequest;
use assay_store::Lease;
use axum::extract::{Request, State};
use axum::http::StatusCode;

use super::lease::{HeldShard, lost};
use super::receive;
use crate::http::ApiError;
use crate::state::App;

pub(super) async fn handle(State(app): State<App>, held: HeldShard, request: Request) -> Result<StatusCode, ApiError> {
    let request: NoteRequest = receive::json(&app, request).await?;
    let episode = request.note.episode();
    if !held.claim.episodes.contains(&episode) {
        return Err(ApiError::invalid("note", None, format!("episode {episode} is not in this shard")));
    }
    match app.records.note_attempt(held.claim.fence, request.note).await? {
        Lease::Held => Ok(StatusCode::NO_CONTENT),
        Lease::Lost => Err(lost()),
    }
}
