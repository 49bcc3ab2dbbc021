//! `/ui/reviews`: the verifications that await a manual review, for reviewers; and their decisions.

use askama::Template;
use assay_model::{JobId, MAX_REVIEW_REASON_CHARS, ReviewDecision, Scope};
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::job_line::JobLine;
use super::page::{PageFrame, failure, go_to, page, to_sign_in};
use super::posted;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{NewReview, Query, RateClass, awaited_reviews, review_verification};
use crate::state::App;

/// Maximum length of the form, in bytes: each character of the reason may be sent as four escaped bytes.
const MAX_FORM_BYTES: usize = MAX_REVIEW_REASON_CHARS * 12 + posted::MAX_FORM_BYTES;
/// Values and names of the decisions.
pub(super) const DECISIONS: [(ReviewDecision, &str); 3] = [
    (ReviewDecision::Accepted, "Accepted: the result may be relied on"),
    (ReviewDecision::Rejected, "Rejected: the result must not be relied on"),
    (ReviewDecision::NeedsEvidence, "More evidence is needed first"),
];

#[derive(Template)]
#[template(path = "ui/reviews.html")]
struct ReviewsPage {
    frame: PageFrame,
    lines: Vec<JobLine>,
    next: Option<JobId>,
}

/// Shows the list.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = show(&app, &viewer, &Query::parse(query.as_deref())).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Records a decision, and redirects back to the verdict.
pub(crate) async fn decide(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let (viewer, form) = match posted::receive_up_to(&app, request, RateClass::Write, MAX_FORM_BYTES).await {
        Ok(sent) => sent,
        Err(error) => return failure(&app, None, &error),
    };
    let done = async {
        viewer.require(Scope::Review)?;
        let text = form.text("decision");
        let decision = DECISIONS.into_iter().map(|(decision, _)| decision).find(|known| known.as_str() == text);
        let decision =
            decision.ok_or_else(|| ApiError::invalid("decision", Some(text), "decision must be one of the list"))?;
        let review = NewReview { decision, reason: form.text("reason").to_owned() };
        let job = review_verification(&app, &viewer.caller, &id, review).await?;
        Ok(go_to(&app, &format!("/ui/verifications/{job}")).into_response())
    };
    done.await.unwrap_or_else(|error: ApiError| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer, query: &Query) -> Result<Response, ApiError> {
    viewer.require(Scope::Review)?;
    let found = awaited_reviews(app, &viewer.caller, query).await?;
    let lines = found.records.iter().map(JobLine::new).collect();
    let frame = PageFrame::new(&app.settings, Some(viewer), "reviews");
    Ok(page(StatusCode::OK, &ReviewsPage { frame, lines, next: found.next }))
}
