//! `GET /workers`: lists workers on other hosts.

use std::collections::BTreeMap;

use assay_model::Sha256Digest;
use assay_store::{WorkerRecord, WorkerState};
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;

use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// State of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(in crate::routes) enum WorkerStateName {
    /// It may claim work.
    Active,
    /// It finishes what it runs, and gets nothing new.
    Draining,
    /// Its token is refused.
    Revoked,
    /// It reported what is not true; its token is refused.
    Quarantined,
}

/// A worker on another host.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct WorkerView {
    /// Name of the worker.
    pub(in crate::routes) name: String,
    /// State of the worker.
    state: WorkerStateName,
    /// Time of the last change of its state.
    state_since: Timestamp,
    /// Finding of its quarantine; `null` if it is not quarantined.
    reason: Option<String>,
    /// True if it may run the secret worlds of seasons.
    trusted: bool,
    /// Time of creation.
    created_at: Timestamp,
    /// Time from which its token is refused; `null` if it does not expire.
    expires_at: Option<Timestamp>,
    /// Time of its last call, to about half a minute; `null` if it never called.
    seen_at: Option<Timestamp>,
    /// Number of shards that it holds.
    shards: u32,
    /// Number of lanes; `null` if it never registered.
    lanes: Option<u32>,
    /// Labels given by its operator.
    labels: BTreeMap<String, String>,
    /// SHA-256 of each policy runtime that it has; it runs no policies in others.
    runtimes: Vec<Sha256Digest>,
    /// Version of its program; `null` if it never registered.
    version: Option<String>,
    /// True if it runs jobs on the same machine fingerprint as this server; `null` if it never registered.
    same_machine: Option<bool>,
}

/// All workers.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct WorkerList {
    /// The workers, by name.
    workers: Vec<WorkerView>,
}

impl WorkerView {
    pub(in crate::routes) fn new(app: &App, worker: WorkerRecord) -> Self {
        let (state, reason) = match worker.state {
            WorkerState::Active => (WorkerStateName::Active, None),
            WorkerState::Draining => (WorkerStateName::Draining, None),
            WorkerState::Revoked => (WorkerStateName::Revoked, None),
            WorkerState::Quarantined { reason } => (WorkerStateName::Quarantined, Some(reason)),
        };
        let registration = worker.registration.as_ref();
        Self {
            name: worker.name.to_string(),
            state,
            state_since: worker.state_since,
            reason,
            trusted: worker.trusted,
            created_at: worker.created_at,
            expires_at: worker.expires_at,
            seen_at: worker.seen_at,
            shards: worker.shards,
            lanes: registration.map(|worker| worker.lanes),
            labels: registration.map(|worker| worker.labels.clone()).unwrap_or_default(),
            runtimes: registration.map(|worker| worker.runtimes.clone()).unwrap_or_default(),
            version: registration.map(|worker| worker.version.clone()),
            same_machine: registration.map(|worker| worker.machine.digest() == app.fingerprint.digest()),
        }
    }
}

/// List workers
///
/// Lists the workers on other hosts by name, including revoked and quarantined ones.
#[utoipa::path(
    get, path = "/workers", operation_id = "list_workers", tag = "workers",
    responses((status = 200, body = ref(schema_of::<WorkerList>()))),
)]
pub(in crate::routes) async fn handle(State(app): State<App>) -> Result<Json<WorkerList>, ApiError> {
    let workers = app.records.workers().await?;
    Ok(Json(WorkerList { workers: workers.into_iter().map(|worker| WorkerView::new(&app, worker)).collect() }))
}
