//! `/ui/community`: the scenarios that accounts have published, with search; and the question before one is deleted.

use askama::Template;
use assay_model::{Scope, sanitise};
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::page::{PageFrame, failure, go_to, page, to_sign_in};
use super::posted;
use super::scenarios::ScenarioTile;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{Query, RateClass, delete_scenario, published_scenarios};
use crate::scenario_lookup;
use crate::state::App;

/// Values and names of the orders.
const SORTS: [(&str, &str); 3] = [("newest", "newest first"), ("evaluations", "most used first"), ("name", "by name")];

#[derive(Template)]
#[template(path = "ui/community.html")]
struct CommunityListPage {
    frame: PageFrame,
    wanted: CommunityQuery,
    tiles: Vec<ScenarioTile>,
    total: u64,
    sorts: [(&'static str, &'static str); 3],
    can_publish: bool,
    earlier: Option<String>,
    later: Option<String>,
}

/// The filters, as they were sent.
struct CommunityQuery {
    words: String,
    tag: String,
    author: String,
    sort: String,
}

/// The question before a scenario is deleted.
#[derive(Template)]
#[template(path = "ui/scenario_delete.html")]
struct DeletePage {
    frame: PageFrame,
    id: String,
    name: String,
    versions: usize,
    evaluations: u64,
}

/// Shows the list.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = show(&app, &viewer, query.as_deref().unwrap_or_default()).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Asks before a scenario is deleted.
pub(crate) async fn ask(State(app): State<App>, MaybeViewer(viewer): MaybeViewer, Path(id): Path<String>) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = async {
        viewer.require(Scope::Publish)?;
        let found = scenario_lookup::published(&app, &id, None).await?;
        if !may_delete(&viewer, found.scenario.account.as_str()) {
            return Err(ApiError::not_found("published scenario"));
        }
        let frame = PageFrame::new(&app.settings, Some(&viewer), "scenarios");
        let name = sanitise(&found.scenario.card.name, usize::MAX);
        let (id, evaluations) = (found.scenario.card.id.to_string(), found.scenario.evaluations);
        let content = DeletePage { frame, id, name, versions: found.versions.len(), evaluations };
        Ok(page(StatusCode::OK, &content))
    };
    shown.await.unwrap_or_else(|error: ApiError| failure(&app, Some(&viewer), &error))
}

/// Deletes a scenario, and redirects to the list.
pub(crate) async fn delete(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let done = async {
        let (viewer, _) = posted::receive(&app, request, RateClass::Write).await?;
        viewer.require(Scope::Publish)?;
        delete_scenario(&app, &viewer.caller, &id).await?;
        Ok(go_to(&app, "/ui/community").into_response())
    };
    done.await.unwrap_or_else(|error: ApiError| failure(&app, None, &error))
}

/// Returns whether the viewer may delete the scenarios of an account.
pub(super) fn may_delete(viewer: &Viewer, author: &str) -> bool {
    let owns = viewer.caller.write_scope().is_none_or(|account| account.as_str() == author);
    owns && viewer.caller.has(Scope::Publish)
}

async fn show(app: &App, viewer: &Viewer, query: &str) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    // A form sends its empty fields too; for the API they are errors.
    let given: Vec<(String, String)> =
        form_urlencoded::parse(query.as_bytes()).into_owned().filter(|(_, value)| !value.is_empty()).collect();
    let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(&given).finish();
    let (filter, found, total) = published_scenarios(app, &Query::parse(Some(&text))).await?;
    let at = |offset: u32| {
        let offset = offset.to_string();
        let kept = given.iter().filter(|(name, _)| name != "offset" && name != "before");
        form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).append_pair("offset", &offset).finish()
    };
    let next = filter.offset.saturating_add(filter.limit);
    let value = |name: &str| given.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value).to_owned();
    let wanted = CommunityQuery { words: value("q"), tag: value("tag"), author: value("author"), sort: value("sort") };
    Ok(page(
        StatusCode::OK,
        &CommunityListPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "scenarios"),
            tiles: found.iter().map(|scenario| ScenarioTile::published(app, scenario)).collect(),
            total,
            sorts: SORTS,
            can_publish: viewer.caller.has(Scope::Publish),
            earlier: (filter.offset > 0).then(|| at(filter.offset.saturating_sub(filter.limit))),
            later: (u64::from(next) < total).then(|| at(next)),
            wanted,
        },
    ))
}
