//! `/ui/verifications/{id}`: the live page of a verification, then its verdict.

use assay_model::{JobStatus, Scope};
use axum::extract::{Path, State};
use axum::response::Response;

use super::page::{failure, to_sign_in};
use super::viewer::{MaybeViewer, Viewer};
use super::{live, verdict};
use crate::http::ApiError;
use crate::routes::{ReadAccess, Verification};
use crate::state::App;

/// Shows the page, or redirects a visitor who is not signed in to the form for signing in.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(id): Path<String>,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    show(&app, &viewer, &id).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer, id: &str) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let Verification { record, .. } = Verification::<ReadAccess>::named(app, &viewer.caller, id).await?;
    viewer.caller.record_access(app, (&record.account, &record.header.job_id), "opened the page of a job").await?;
    match record.state.status() {
        JobStatus::Completed => verdict::show(app, viewer, &record).await,
        _ => live::show(app, viewer, &record).await,
    }
}
