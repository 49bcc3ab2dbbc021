//! `/worker/v1/tasks`: replays, preflights and checks of scenarios that a client waits for. Only workers that the
//! operator trusts get them: nothing that they say can be checked.

mod answer;
mod claim;
mod inputs;
mod lease;

use axum::Router;
use axum::routing::{get, post};

use crate::state::App;
pub(super) use lease::{TASK_LEASE, task_fence};

/// Returns the routes.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/tasks/claim", post(claim::handle))
        .route("/tasks/{lease}/policy", get(inputs::policy))
        .route("/tasks/{lease}/recording", get(inputs::recording))
        .route("/tasks/{lease}/runtime", get(inputs::runtime))
        .route("/tasks/{lease}/runtime/{sha256}", get(inputs::runtime_file))
        .route("/tasks/{lease}/server", get(inputs::server))
        .route("/tasks/{lease}/models/{sha256}", get(inputs::model))
        .route("/tasks/{lease}/scenario", get(inputs::scenario))
        .route("/tasks/{lease}/scenario/{sha256}", get(inputs::scenario_file))
        .route("/tasks/{lease}/answer", post(answer::handle))
        .route("/tasks/{lease}/return", post(answer::give_back))
}
