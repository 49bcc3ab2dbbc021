//! `/worker/v1`: the protocol of workers on other hosts. A worker only ever asks; the server never connects to one. It
//! sees the inputs, the per-episode seeds and the server call of the shards that it holds, and nothing else.
//!
//! Where to begin: `identity` (who asks), `lease` (what they may touch), `claim` (what they get), `results` and
//! `audit` (why they are believed).

mod attend;
mod audit;
mod beat;
mod claim;
mod evidence;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod give_back;
mod identity;
mod inputs;
mod lease;
mod leave;
mod notes;
mod openapi;
mod receive;
mod register;
mod renders;
mod reported;
mod results;
mod runtimes;
mod scenario_files;
mod tasks;
mod unconfirmed;

use assay_model::WORKER_PROTOCOL_PATH;
use axum::Router;
use axum::routing::{get, post, put};

use crate::state::App;
pub use attend::attend_workers;
pub(crate) use scenario_files::version_files;

/// Returns the routes of the protocol.
pub(crate) fn routes() -> Router<App> {
    let routes = Router::new()
        .route("/register", post(register::handle))
        .route("/claim", post(claim::handle))
        .route("/beat", post(beat::handle))
        .route("/results", post(results::handle))
        .route("/leave", post(leave::handle))
        .route("/leases/{lease}/policy", get(inputs::policy))
        .route("/leases/{lease}/models/{sha256}", get(inputs::model))
        .route("/leases/{lease}/scenario", get(scenario_files::scenario))
        .route("/leases/{lease}/scenario/{sha256}", get(scenario_files::scenario_file))
        .route("/leases/{lease}/runtime", get(runtimes::listing))
        .route("/leases/{lease}/runtime/{sha256}", get(runtimes::file))
        .route("/leases/{lease}/server", get(inputs::server))
        .route("/leases/{lease}/evidence/{sha256}", put(evidence::handle))
        .route("/leases/{lease}/notes", post(notes::handle))
        .route("/leases/{lease}/return", post(give_back::handle))
        .route("/openapi.json", get(openapi::handle))
        .merge(renders::routes())
        .merge(tasks::routes());
    Router::new().nest(WORKER_PROTOCOL_PATH, routes)
}
