//! `/ui/models`: the account's models, unfinished uploads included: look, delete.

use askama::Template;
use assay_model::{Scope, sanitise};
use assay_store::{ModelRecord, ModelState};
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::job_line::in_words;
use super::page::{PageFrame, failure, go_to, page, to_sign_in};
use super::posted;
use super::units::bytes_in_words;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{Query, RateClass, delete_model, find_model};
use crate::state::App;

/// Number of models on a page.
const SHOWN: u32 = 50;

#[derive(Template)]
#[template(path = "ui/models.html")]
struct ModelsPage {
    frame: PageFrame,
    lines: Vec<ModelLine>,
    total: u64,
    /// Bytes that the account's models may take together.
    quota: String,
    older: Option<u32>,
    may_delete: bool,
}

/// The question before a model is deleted.
#[derive(Template)]
#[template(path = "ui/model.html")]
struct ModelQuestionPage {
    frame: PageFrame,
    line: ModelLine,
    complaint: Option<String>,
    may_delete: bool,
}

/// A model as a line of the list.
struct ModelLine {
    /// Digest of a complete model, or id of an upload.
    id: String,
    name: String,
    sha256: String,
    /// Its first digits.
    sha256_head: String,
    size: String,
    /// Number of bytes that are stored of an unfinished upload, of all, and the time until which it is kept.
    upload: Option<(u64, u64, String)>,
    at: String,
}

/// Shows the list.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    list(&app, &viewer, query.as_deref()).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Asks before a model is deleted.
pub(crate) async fn ask(State(app): State<App>, MaybeViewer(viewer): MaybeViewer, Path(id): Path<String>) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = show(&app, &viewer, &id, None).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Deletes a model, and redirects back to the list; or shows why a job still needs it.
pub(crate) async fn delete(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let (viewer, _) = match posted::receive(&app, request, RateClass::Models).await {
        Ok(sent) => sent,
        Err(error) => return failure(&app, None, &error),
    };
    let done = async {
        match delete_model(&app, &viewer.caller, &id).await {
            Ok(()) => Ok(go_to(&app, "/ui/models").into_response()),
            Err(error) if error.status() == StatusCode::CONFLICT => show(&app, &viewer, &id, Some(&error)).await,
            Err(error) => Err(error),
        }
    };
    done.await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn list(app: &App, viewer: &Viewer, query: Option<&str>) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let offset = Query::parse(query).number("offset", 0, 0, i32::MAX.unsigned_abs())?;
    let (found, total) = app.records.models(&viewer.caller.key.account, SHOWN, offset).await?;
    let next = offset.saturating_add(SHOWN);
    Ok(page(
        StatusCode::OK,
        &ModelsPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "models"),
            lines: found.iter().map(ModelLine::new).collect(),
            total,
            quota: bytes_in_words(app.settings.account.models_mib << 20),
            older: (u64::from(next) < total).then_some(next),
            may_delete: may_delete(viewer),
        },
    ))
}

async fn show(app: &App, viewer: &Viewer, id: &str, refusal: Option<&ApiError>) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let record = find_model(app, &viewer.caller, id).await?;
    let content = ModelQuestionPage {
        frame: PageFrame::new(&app.settings, Some(viewer), "models"),
        line: ModelLine::new(&record),
        complaint: refusal.map(|error| error.message().to_owned()),
        may_delete: may_delete(viewer),
    };
    Ok(page(refusal.map_or(StatusCode::OK, ApiError::status), &content))
}

fn may_delete(viewer: &Viewer) -> bool {
    viewer.caller.has(Scope::Verify) || viewer.caller.has(Scope::Submit)
}

impl ModelLine {
    fn new(record: &ModelRecord) -> Self {
        let (id, upload, at) = match record.state {
            ModelState::Uploading { expires_at } => {
                let upload = (record.received_bytes, record.size_bytes, in_words(expires_at));
                (record.upload.to_string(), Some(upload), record.created_at)
            }
            ModelState::Ready { completed_at } => (record.sha256.to_string(), None, completed_at),
        };
        Self {
            id,
            name: record.name.as_deref().map(|name| sanitise(name, usize::MAX)).unwrap_or_default(),
            sha256: record.sha256.to_string(),
            sha256_head: format!("{:.12}", record.sha256),
            size: bytes_in_words(record.size_bytes),
            upload,
            at: in_words(at),
        }
    }
}
