//! `/ui/scenarios/{id}`: one scenario: what the policy sees and does, its clauses, a policy to start from, versions.

use std::sync::Arc;

use askama::Template;
use assay_model::{ScenarioCard, Scope, sanitise};
use assay_report::html;
use assay_scenario::Spec;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::cheats::cheats;
use super::clips::ClipView;
use super::community::may_delete;
use super::job_line::in_words;
use super::page::{PageFrame, failure, page, to_sign_in};
use super::scenarios::ScenarioTile;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::Query;
use crate::scenario_lookup;
use crate::state::App;

#[derive(Template)]
#[template(path = "ui/scenario.html")]
struct ScenarioPage {
    frame: PageFrame,
    card: Arc<ScenarioCard>,
    name: String,
    description: String,
    /// The author's description: HTML made from Markdown, escaped.
    story: String,
    spec: Arc<Spec>,
    observation: Vec<ObservationLine>,
    versions: Vec<(String, String)>,
    /// Account, number of verifications and tags of a published scenario.
    published: Option<(String, u64, String)>,
    may_delete: bool,
    has_cheats: bool,
    /// Address of its picture.
    picture: Option<String>,
    /// Videos of its known-answer policies.
    clips: Vec<ClipView>,
}

/// A policy to start from.
#[derive(Template)]
#[template(path = "ui/policy.py", escape = "none")]
struct StarterPolicy<'a> {
    spec: &'a Spec,
    observation: Vec<ObservationLine>,
    action: Vec<String>,
}

/// An array of the observation, as text without line breaks.
struct ObservationLine {
    name: String,
    shape: String,
    dtype: &'static str,
    unit: &'static str,
    description: String,
}

/// Shows the page, or redirects a visitor who is not signed in to the form for signing in.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = show(&app, &viewer, &id, query.as_deref()).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Returns a policy that does nothing, with everything that it sees and does in comments.
pub(crate) async fn starter(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(id): Path<String>,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let made = async {
        viewer.require(Scope::Read)?;
        let card = scenario_lookup::scenario(&app, &id, None).await?;
        let spec = app.spec(&card).await?;
        let action = spec.action.iter().map(|number| {
            let (name, unit) = (one_line(&number.name), one_line(&number.unit));
            format!("{name}, {} to {} {unit}", number.low, number.high)
        });
        let (observation, action) = (observed(&spec), action.collect());
        StarterPolicy { spec: &spec, observation, action }
            .render()
            .map_err(|error| ApiError::internal("a policy to start from", &error))
    };
    match made.await {
        Ok(text) => {
            let headers = [
                (header::CONTENT_TYPE, "text/x-python; charset=utf-8"),
                (header::CONTENT_DISPOSITION, "attachment; filename=\"policy.py\""),
            ];
            (headers, text).into_response()
        }
        Err(error) => failure(&app, Some(&viewer), &error),
    }
}

fn observed(spec: &Spec) -> Vec<ObservationLine> {
    let array = |array: &assay_scenario::Array| ObservationLine {
        name: one_line(&array.name),
        shape: match &*array.shape {
            [] => "number".to_owned(),
            lengths => lengths.iter().map(u32::to_string).collect::<Vec<_>>().join(" x "),
        },
        dtype: array.dtype,
        unit: array.unit,
        description: one_line(&array.description),
    };
    spec.observation.iter().map(array).collect()
}

fn one_line(text: &str) -> String {
    sanitise(text, usize::MAX).replace(['\n', '\t'], " ")
}

async fn show(app: &App, viewer: &Viewer, id: &str, query: Option<&str>) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let query = Query::parse(query);
    let card = scenario_lookup::scenario(app, id, query.text("version")?).await?;
    let (versions, published) = match app.catalog.get(&card.id) {
        Some(_) => (Vec::new(), None),
        None => {
            let found = scenario_lookup::published(app, id, None).await?;
            let tags = sanitise(&found.scenario.tags.join(", "), usize::MAX);
            (found.versions, Some((found.scenario.account.to_string(), found.scenario.evaluations, tags)))
        }
    };
    let spec = app.spec(&card).await?;
    Ok(page(
        StatusCode::OK,
        &ScenarioPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "scenarios"),
            name: sanitise(&card.name, usize::MAX),
            description: sanitise(&card.description, usize::MAX),
            story: html::markdown(&card.long_description),
            observation: observed(&spec),
            spec,
            versions: versions.into_iter().map(|one| (one.version, in_words(one.published_at))).collect(),
            may_delete: published.as_ref().is_some_and(|(author, ..)| may_delete(viewer, author)),
            published,
            has_cheats: cheats(card.id.as_str()).is_some(),
            picture: ScenarioTile::new(app, &card).picture,
            clips: ClipView::all(app, &card),
            card,
        },
    ))
}
