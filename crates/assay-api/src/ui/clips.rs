//! `/ui/scenarios/{id}/clips/{file}`: the videos of a built-in scenario's known-answer policies, and pictures of them.

use std::path::PathBuf;

use assay_model::{ScenarioCard, Scope, Verdict};
use assay_report::html;
use assay_scenario::ScenarioClip;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::page::{failure, to_sign_in};
use super::viewer::{MaybeViewer, Viewer};
use crate::http::range::{RequestedRange, parse_range};
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Time for which a browser may keep a clip, in seconds: its address changes with the scenario's version.
const KEPT_FOR: &str = "private, max-age=86400";

/// A clip on the scenario's page.
pub(super) struct ClipView {
    pub(super) policy: &'static str,
    pub(super) verdict: &'static str,
    pub(super) tone: &'static str,
    pub(super) lead: String,
    pub(super) seed: u64,
    /// Simulated time in words.
    pub(super) seconds: String,
    pub(super) video: String,
    pub(super) poster: String,
}

impl ClipView {
    /// Returns the clips of this version of a scenario.
    pub(super) fn all(app: &App, card: &ScenarioCard) -> Vec<Self> {
        let clips = app.catalog.clips(&card.id).iter();
        clips.filter(|clip| clip.report.scenario_digest == card.digest).map(|clip| Self::new(app, card, clip)).collect()
    }

    fn new(app: &App, card: &ScenarioCard, clip: &ScenarioClip) -> Self {
        let report = &clip.report;
        let (verdict, tone) = match report.verdict {
            Some(Verdict::Safe) => ("SAFE", "good"),
            Some(Verdict::Unsafe) => ("UNSAFE", "bad"),
            Some(Verdict::Inconclusive) | None => ("INCONCLUSIVE", "open"),
        };
        let folder = format!("{}/ui/scenarios/{}/clips", app.settings.base_path(), card.id);
        let file = |end: &str| format!("{folder}/{}.{end}?v={:.12}", clip.policy, card.digest);
        Self {
            policy: clip.policy,
            verdict,
            tone,
            lead: html::lead(report),
            seed: report.seed,
            seconds: format!("{:.1} s", report.episode_details.iter().map(|one| one.sim_time_s).sum::<f64>()),
            video: file("mp4"),
            poster: file("webp"),
        }
    }
}

/// Returns a file, or the range of it that a player asks for.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path((id, file)): Path<(String, String)>,
    request: HeaderMap,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let range = request.get(header::RANGE).and_then(|value| value.to_str().ok());
    let sent = send(&app, &viewer, &id, &file, range).await;
    sent.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn send(app: &App, viewer: &Viewer, id: &str, file: &str, range: Option<&str>) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let (path, kind) = find(app, id, file).ok_or_else(|| ApiError::not_found("clip"))?;
    let content = tokio::fs::read(path).await.map_err(|e| ApiError::internal("a clip could not be read", &e))?;
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CACHE_CONTROL, KEPT_FOR.to_owned()),
        (header::ACCEPT_RANGES, "bytes".to_owned()),
    ];
    let length = content.len();
    match parse_range(range, length as u64) {
        RequestedRange::All => Ok((headers, content).into_response()),
        RequestedRange::Part(part) => {
            let place = [(header::CONTENT_RANGE, format!("bytes {}-{}/{length}", part.start, part.end - 1))];
            let bounds = usize::try_from(part.start).unwrap_or(length)..usize::try_from(part.end).unwrap_or(length);
            let content = content.get(bounds).unwrap_or_default().to_vec();
            Ok((StatusCode::PARTIAL_CONTENT, headers, place, content).into_response())
        }
        RequestedRange::Nothing => {
            let message = format!("the file has {length} bytes, none of them in this range");
            Err(ApiError::new(ErrorCode::RangeNotSatisfiable, message))
        }
    }
}

/// Returns the path of a clip's file, and its media type.
fn find(app: &App, id: &str, file: &str) -> Option<(PathBuf, &'static str)> {
    let (policy, end) = file.rsplit_once('.')?;
    let clip = app.catalog.clips(&id.parse().ok()?).iter().find(|clip| clip.policy == policy)?;
    match end {
        "mp4" => Some((clip.video.clone(), "video/mp4")),
        "webp" => Some((clip.poster.clone(), "image/webp")),
        _ => None,
    }
}
