//! `/ui/verifications/{id}/episodes/{n}`: one episode, with video and plots on the same time.

use askama::Template;
use assay_model::{Scope, sanitise};
use assay_report::html;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::page::{PageFrame, failure, page, to_sign_in};
use super::replay::may_replay;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::report_assets::plots_of;
use crate::routes::{ReadAccess, Verification};
use crate::state::App;
use crate::views::{EvidenceUrls, add_renderings};

#[derive(Template)]
#[template(path = "ui/episode.html")]
struct PlayerPage {
    frame: PageFrame,
    job: String,
    policy: String,
    scenario: String,
    index: u32,
    earlier: Option<u32>,
    later: Option<u32>,
    /// The parts shared with the report: HTML, escaped.
    parts: String,
    can_replay: bool,
}

/// Shows the page, or redirects a visitor who is not signed in to the form for signing in.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path((id, index)): Path<(String, String)>,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    show(&app, &viewer, &id, &index).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer, id: &str, index: &str) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let Verification { record, .. } = Verification::<ReadAccess>::named(app, &viewer.caller, id).await?;
    viewer.caller.record_access(app, (&record.account, &record.header.job_id), "opened the page of an episode").await?;
    let absent = || ApiError::not_found("episode");
    let index: u32 = index.parse().map_err(|_| absent())?;
    let mut found = app.records.episodes(record.header.job_id, index, 1).await?;
    found.retain(|episode| episode.episode == index);
    add_renderings(app, &record, &mut found).await?;
    let report = record.report(&found);
    let episode = report.episode_details.first().ok_or_else(absent)?;
    let plots: Vec<_> = plots_of(app, &report, index).await.map(|plots| (index, plots)).into_iter().collect();
    let addresses = EvidenceUrls::of(app, &record).of_episode(episode);
    let assets = html::Assets { plots: &plots, addresses: Some(&addresses), ..html::Assets::default() };
    let parts = html::episode(episode, assets).map_err(|error| ApiError::internal("an episode's page", &error))?;
    Ok(page(
        StatusCode::OK,
        &PlayerPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "jobs"),
            job: report.job_id.to_string(),
            policy: sanitise(&report.policy_name, usize::MAX),
            scenario: report.scenario.to_string(),
            index,
            earlier: index.checked_sub(1),
            later: index.checked_add(1).filter(|next| *next < record.episodes_done),
            parts,
            can_replay: may_replay(viewer, &record),
        },
    ))
}
