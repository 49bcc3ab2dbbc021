//! `/ui/workers`: the workers on other hosts, for administrators: create, drain, revoke.

use askama::Template;
use assay_model::{Scope, sanitise};
use assay_store::{WorkerRecord, WorkerState};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::job_line::in_words;
use super::page::{PageFrame, failure, go_to, page, to_sign_in};
use super::posted;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{NewWorkerRequest, RateClass, create_worker, drain_worker, existing_worker, revoke_worker};
use crate::state::App;

#[derive(Template)]
#[template(path = "ui/workers.html")]
struct WorkersPage {
    frame: PageFrame,
    lines: Vec<WorkerLine>,
    /// Name and token of a worker that was just created, shown once.
    created: Option<(String, String)>,
    complaint: Option<String>,
}

/// The question before a worker is drained or revoked.
#[derive(Template)]
#[template(path = "ui/worker.html")]
struct WorkerPage {
    frame: PageFrame,
    line: WorkerLine,
}

/// A worker as a line of the list.
struct WorkerLine {
    name: String,
    word: &'static str,
    tone: &'static str,
    /// The finding of a quarantine; empty otherwise.
    reason: String,
    trusted: bool,
    lanes: String,
    shards: u32,
    seen: String,
    version: String,
    machine: &'static str,
    labels: String,
    expires: String,
    is_admitted: bool,
    is_draining: bool,
}

/// Shows the list.
pub(crate) async fn handle(State(app): State<App>, MaybeViewer(viewer): MaybeViewer) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = list(&app, &viewer, StatusCode::OK, None, None).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Creates a worker, and shows its token once.
pub(crate) async fn create(State(app): State<App>, request: Request) -> Response {
    let (viewer, form) = match posted::receive(&app, request, RateClass::Write).await {
        Ok(sent) => sent,
        Err(error) => return failure(&app, None, &error),
    };
    let created = async {
        viewer.require(Scope::Admin)?;
        let name = form.text("name").trim().to_owned();
        let wish = NewWorkerRequest { name, trusted: !form.text("trusted").is_empty(), expires_at: None };
        match create_worker(&app, &viewer.caller, wish).await {
            Ok((token, worker)) => {
                let created = Some((worker.name.to_string(), token));
                list(&app, &viewer, StatusCode::CREATED, created, None).await
            }
            Err(error) if error.is_server_error() => Err(error),
            Err(error) => list(&app, &viewer, error.status(), None, Some(error.message().to_owned())).await,
        }
    };
    created.await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Asks before a worker is drained or revoked.
pub(crate) async fn ask(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(name): Path<String>,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = async {
        viewer.require(Scope::Admin)?;
        let found = app.records.worker_named(&existing_worker(&name)?).await?;
        let worker = found.ok_or_else(|| ApiError::not_found("worker"))?;
        let frame = PageFrame::new(&app.settings, Some(&viewer), "workers");
        Ok(page(StatusCode::OK, &WorkerPage { frame, line: WorkerLine::new(&app, &worker) }))
    };
    shown.await.unwrap_or_else(|error: ApiError| failure(&app, Some(&viewer), &error))
}

/// Lets a worker end, or claim again, and redirects back to the list.
pub(crate) async fn drain(State(app): State<App>, Path(name): Path<String>, request: Request) -> Response {
    let done = async {
        let (viewer, form) = posted::receive(&app, request, RateClass::Write).await?;
        viewer.require(Scope::Admin)?;
        drain_worker(&app, &viewer.caller, &name, form.text("undo").is_empty()).await?;
        Ok(go_to(&app, "/ui/workers").into_response())
    };
    done.await.unwrap_or_else(|error: ApiError| failure(&app, None, &error))
}

/// Revokes a worker, and redirects back to the list.
pub(crate) async fn revoke(State(app): State<App>, Path(name): Path<String>, request: Request) -> Response {
    let done = async {
        let (viewer, _) = posted::receive(&app, request, RateClass::Write).await?;
        viewer.require(Scope::Admin)?;
        revoke_worker(&app, &viewer.caller, &name).await?;
        Ok(go_to(&app, "/ui/workers").into_response())
    };
    done.await.unwrap_or_else(|error: ApiError| failure(&app, None, &error))
}

async fn list(
    app: &App,
    viewer: &Viewer,
    status: StatusCode,
    created: Option<(String, String)>,
    complaint: Option<String>,
) -> Result<Response, ApiError> {
    viewer.require(Scope::Admin)?;
    let workers = app.records.workers().await?;
    let mut lines: Vec<_> = workers.iter().map(|worker| WorkerLine::new(app, worker)).collect();
    lines.sort_by_key(|line| !line.is_admitted);
    let frame = PageFrame::new(&app.settings, Some(viewer), "workers");
    Ok(page(status, &WorkersPage { frame, lines, created, complaint }))
}

impl WorkerLine {
    fn new(app: &App, worker: &WorkerRecord) -> Self {
        let (word, tone, reason) = match &worker.state {
            WorkerState::Active => ("ACTIVE", "good", String::new()),
            WorkerState::Draining => ("DRAINING", "open", String::new()),
            WorkerState::Revoked => ("REVOKED", "soft", String::new()),
            WorkerState::Quarantined { reason } => ("QUARANTINED", "bad", sanitise(reason, usize::MAX)),
        };
        let registration = worker.registration.as_ref();
        let labels = registration.iter().flat_map(|known| &known.labels);
        let labels: Vec<_> = labels.map(|(name, value)| format!("{name}={value}")).collect();
        Self {
            name: worker.name.to_string(),
            word,
            tone,
            reason,
            trusted: worker.trusted,
            lanes: registration.map(|known| known.lanes.to_string()).unwrap_or_default(),
            shards: worker.shards,
            seen: worker.seen_at.map_or_else(|| "never".to_owned(), in_words),
            version: registration.map(|known| sanitise(&known.version, usize::MAX)).unwrap_or_default(),
            machine: match registration.map(|known| known.machine.digest() == app.fingerprint.digest()) {
                Some(true) => "as this server",
                Some(false) => "another",
                None => "",
            },
            labels: sanitise(&labels.join(", "), usize::MAX),
            expires: worker.expires_at.map_or_else(|| "never".to_owned(), in_words),
            is_admitted: worker.is_admitted(app.clock.now()),
            is_draining: matches!(worker.state, WorkerState::Draining),
        }
    }
}
