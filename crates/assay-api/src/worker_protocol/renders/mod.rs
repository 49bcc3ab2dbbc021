//! `/worker/v1/renders`: logs and videos of recorded episodes, which workers on other hosts render with the lowest
//! priority. No verdict depends on them: what a worker sends is signed under its name, and not checked further.

mod body;
mod claim;
mod finish;
mod give_back;
mod inputs;
mod lease;

use axum::Router;
use axum::routing::{get, post};

use crate::state::App;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) use body::rendered_files;
pub(super) use lease::{RENDER_LEASE, render_fence};

/// Returns the routes.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/renders/claim", post(claim::handle))
        .route("/renders/{lease}/recording", get(inputs::recording))
        .route("/renders/{lease}/scenario", get(inputs::scenario))
        .route("/renders/{lease}/scenario/{sha256}", get(inputs::scenario_file))
        .route("/renders/{lease}/files", post(finish::handle))
        .route("/renders/{lease}/return", post(give_back::handle))
}
