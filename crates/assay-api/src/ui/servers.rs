//! `/ui/servers`: the servers of the site with their lanes, and what runs, for administrators.

use askama::Template;
use assay_model::Scope;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::page::{PageFrame, failure, page, to_sign_in};
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{ServerList, server_list};
use crate::state::App;

#[derive(Template)]
#[template(path = "ui/servers.html")]
struct ServersPage {
    frame: PageFrame,
    list: ServerList,
    /// Lanes of all servers and workers.
    lanes: u64,
    /// The state of the lanes in words, and its class in the stylesheet.
    load: (&'static str, &'static str),
}

/// Shows the page.
pub(crate) async fn handle(State(app): State<App>, MaybeViewer(viewer): MaybeViewer) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = show(&app, &viewer).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer) -> Result<Response, ApiError> {
    viewer.require(Scope::Admin)?;
    let list = server_list(app, &viewer.caller).await?;
    let lanes = list.servers.iter().map(|server| u64::from(server.lanes)).sum::<u64>() + list.worker_lanes;
    let load = match (list.running_shards, list.waiting_shards) {
        (0, 0) => ("IDLE", "calm"),
        (_, 0) => ("ENOUGH LANES", "good"),
        _ => ("WORK WAITS", "open"),
    };
    let frame = PageFrame::new(&app.settings, Some(viewer), "servers");
    Ok(page(StatusCode::OK, &ServersPage { frame, list, lanes, load }))
}
