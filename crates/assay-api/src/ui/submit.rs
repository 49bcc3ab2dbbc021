//! `/ui/submit`: a policy and a scenario, checked before they are queued.

use askama::Template;
use assay_model::{Finding, FindingLevel, Plan, Preflight, Scope, sanitise};
use axum::extract::{RawQuery, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use super::page::{PageFrame, failure, go_to, page, to_sign_in};
use super::posted;
use super::viewer::{MaybeViewer, Viewer};
use crate::acceptance::JobOrigin;
use crate::http::ApiError;
use crate::routes::{Query, RateClass, accept_form, run_preflight};
use crate::state::App;
use crate::upload::{self, PAGE_PARTS, UploadForm};

/// Bounds on the violation probability to choose from.
const BOUNDS: [f64; 4] = [0.2, 0.1, 0.05, 0.01];

#[derive(Template)]
#[template(path = "ui/submit.html")]
struct SubmitPage {
    frame: PageFrame,
    scenarios: Vec<ScenarioOption>,
    certainties: Vec<CertaintyOption>,
    max_episodes: u32,
    max_mib: u64,
    filled: FilledForm,
    /// Reason why the last try was refused.
    complaint: Option<String>,
    /// Findings of the check in the last try.
    findings: Vec<Finding>,
    log: String,
}

/// A scenario to choose.
struct ScenarioOption {
    id: String,
    name: String,
}

/// A bound to choose.
struct CertaintyOption {
    value: String,
    words: String,
}

/// The fields as they were sent, without secrets.
#[derive(Default)]
struct FilledForm {
    scenario: String,
    policy_url: String,
    num_episodes: String,
    max_violation_probability: String,
    policy_name: String,
}

/// Shows the form, or redirects a visitor who is not signed in to the form for signing in.
pub(crate) async fn form(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let query = Query::parse(query.as_deref());
    let shown = viewer.require(Scope::Verify).and_then(|()| {
        let scenario = query.text("scenario")?.unwrap_or_default().to_owned();
        Ok(show(&app, &viewer, StatusCode::OK, FilledForm { scenario, ..FilledForm::default() }, Refusal::default()))
    });
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Receives the form, checks the policy, queues the job and redirects to its page.
pub(crate) async fn submit(State(app): State<App>, request: Request) -> Response {
    let viewer = match posted::sender(&app, request.headers(), RateClass::Verify).await {
        Ok(viewer) => viewer,
        Err(error) => return failure(&app, None, &error),
    };
    queue(&app, &viewer, request).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Reason why a try was refused.
#[derive(Default)]
struct Refusal {
    complaint: Option<String>,
    found: Option<Preflight>,
}

async fn queue(app: &App, viewer: &Viewer, request: Request) -> Result<Response, ApiError> {
    viewer.require(Scope::Verify)?;
    let caller = &viewer.caller;
    let origin = JobOrigin::begin(app, caller, None, &Uri::from_static("/verify")).await?;
    let form = upload::receive(app, caller, request, PAGE_PARTS).await?;
    posted::check_token(viewer, form.text("csrf").unwrap_or_default())?;
    let form = form.without_blanks();
    let filled = FilledForm::of(&form);
    let refused = |error: ApiError, filled| {
        if error.is_server_error() {
            return Err(error);
        }
        let refusal = Refusal { complaint: Some(error.message().to_owned()), found: None };
        Ok(show(app, viewer, error.status(), filled, refusal))
    };
    let form = if form.text("check").is_some() {
        match run_preflight(app, caller, form).await {
            Ok((found, form)) if found.holds => form,
            Ok((found, _)) => {
                let complaint = Some("the policy would not get through an episode".to_owned());
                let refusal = Refusal { complaint, found: Some(found) };
                return Ok(show(app, viewer, StatusCode::UNPROCESSABLE_ENTITY, filled, refusal));
            }
            Err(error) => return refused(error, filled),
        }
    } else {
        form
    };
    match accept_form(app, caller, &origin, form).await {
        Ok(accepted) => Ok(go_to(app, &format!("/ui/verifications/{}", accepted.body)).into_response()),
        Err(error) => refused(error, filled),
    }
}

impl FilledForm {
    fn of(form: &UploadForm) -> Self {
        let text = |name| form.text(name).map(|text| sanitise(text, usize::MAX)).unwrap_or_default();
        Self {
            scenario: text("scenario"),
            policy_url: text("policy_url"),
            num_episodes: text("num_episodes"),
            max_violation_probability: text("max_violation_probability"),
            policy_name: text("policy_name"),
        }
    }
}

fn show(app: &App, viewer: &Viewer, status: StatusCode, filled: FilledForm, refusal: Refusal) -> Response {
    let mut scenarios: Vec<_> = app
        .catalog
        .list()
        .iter()
        .map(|card| ScenarioOption { id: card.id.to_string(), name: sanitise(&card.name, usize::MAX) })
        .collect();
    if !filled.scenario.is_empty() && scenarios.iter().all(|option| option.id != filled.scenario) {
        // A published scenario.
        scenarios.push(ScenarioOption { id: filled.scenario.clone(), name: filled.scenario.clone() });
    }
    let (error, mut findings) = refusal.found.map_or((None, Vec::new()), |found| (found.error, found.findings));
    findings.retain(|finding| finding.level != FindingLevel::Note);
    let page_content = SubmitPage {
        frame: PageFrame::new(&app.settings, Some(viewer), "submit"),
        scenarios,
        certainties: certainties(app.settings.job.max_episodes),
        max_episodes: app.settings.job.max_episodes,
        max_mib: app.settings.uploads.max_bytes >> 20,
        filled,
        complaint: refusal.complaint,
        findings,
        log: error.map(|error| sanitise(&error.log_tail, usize::MAX)).unwrap_or_default(),
    };
    page(status, &page_content)
}

/// Returns the bounds that a job may certify.
fn certainties(max_episodes: u32) -> Vec<CertaintyOption> {
    let level = Plan::DEFAULT_CONFIDENCE_LEVEL;
    let option = |bound: f64| {
        let episodes = Plan::default_episodes(Some(bound), level, Plan::DEFAULT_EPISODES);
        (episodes <= max_episodes).then(|| CertaintyOption {
            value: bound.to_string(),
            words: format!(
                "{:.0} % sure that fewer than {:.0} in 100 episodes are unsafe: {episodes} episodes",
                level * 100.0,
                bound * 100.0
            ),
        })
    };
    BOUNDS.into_iter().filter_map(option).collect()
}
