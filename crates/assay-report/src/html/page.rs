//! View of the report for the page's template: text and numbers, ready for display.

use askama::Template;
use assay_model::{EpisodeResult, JobReport, PolicyIdentity, PolicyKey, Quadrants, ReplacedAttempt, Verdict};

use super::assets::Assets;
use super::charts::BoundChart;
use super::display::clean;
use super::episode::EpisodeSection;
use super::gaps;
use super::gravest::{Gravest, achieved, closest, lead};
use super::grid::EpisodeGrid;
use super::latency::LatencyView;
use super::margins::MarginBar;
use super::still::StillView;
use crate::{ClauseSummary, outcome, run_again, statistics, words};

/// Scores from here are drawn as good.
const HIGH_SCORE: f64 = 0.8;
/// Scores below are drawn as bad.
const LOW_SCORE: f64 = 0.5;

/// The report as one self-contained page.
#[derive(Template)]
#[template(path = "report.html")]
pub(super) struct ReportPage<'a> {
    r: ReportParts,
    latency: Option<LatencyView>,
    episodes: Vec<EpisodeSection>,
    generator: &'a str,
}

/// The verdict of a job as a fragment of another page, which shows each episode on a page of its own.
#[derive(Template)]
#[template(path = "verdict.html")]
pub(super) struct VerdictFragment {
    r: ReportParts,
}

/// The margins and episodes so far as a fragment of another page.
#[derive(Template)]
#[template(path = "progress.html")]
pub(super) struct ProgressFragment {
    r: ReportParts,
}

/// One episode as a fragment of another page, with a player.
#[derive(Template)]
#[template(path = "episode_page.html")]
pub(super) struct EpisodeFragment {
    e: EpisodeSection,
}

/// The parts that are common to the report and to pages about the job.
struct ReportParts {
    headline: &'static str,
    tone: &'static str,
    lead: String,
    achieved: Option<String>,
    closest: Option<String>,
    still: Option<StillView>,
    /// Beginning of the address of an episode, before its index.
    episode_link: String,
    blame: Option<&'static str>,
    review: Vec<&'static str>,
    reviewed: Option<String>,
    notes: Vec<String>,
    policy: String,
    scenario: String,
    description: Option<String>,
    scores: Vec<ScoreBar>,
    facts: Vec<Fact>,
    engine: Vec<(&'static str, String)>,
    sentences: Vec<String>,
    harm: Option<String>,
    bound: Option<BoundChart>,
    quadrants: Option<Quadrants>,
    margins: Vec<MarginBar>,
    grid: EpisodeGrid,
    factors: Vec<String>,
    sensitivity: Vec<SensitivityView>,
    signed_by: Option<String>,
    attempts: Vec<String>,
    gaps: Vec<String>,
    command: String,
    policy_word: String,
    measured: bool,
}

/// Bar of a score.
pub(super) struct ScoreBar {
    name: &'static str,
    value: String,
    percent: f64,
    tone: &'static str,
}

/// Results of a clause at other limits.
pub(super) struct SensitivityView {
    clause: String,
    limit: String,
    worst: String,
    /// By limit: its factor, number of episodes with a violation, and the CSS class.
    cells: Vec<(String, String, &'static str)>,
}

impl SensitivityView {
    fn of(clause: &assay_model::ClauseSensitivity) -> Self {
        let unit = clean(&clause.unit);
        let cell = |row: &assay_model::SensitivityRow| {
            let open = if row.undecided > 0 { format!(" (+{} open)", row.undecided) } else { String::new() };
            let tone = if row.violated > 0 {
                "bad"
            } else if row.undecided > 0 {
                "open"
            } else {
                "good"
            };
            (words::percent(row.factor), format!("{}{open}", row.violated), tone)
        };
        Self {
            clause: clean(&clause.clause),
            limit: words::with_unit(clause.limit, &unit),
            worst: words::with_unit(clause.worst_value, &unit),
            cells: clause.rows.iter().map(cell).collect(),
        }
    }
}

impl<'a> ReportPage<'a> {
    pub(super) fn new(report: &JobReport, assets: Assets<'a>) -> Self {
        Self {
            r: ReportParts::new(report, assets, "#episode-"),
            latency: LatencyView::of(assets.plots.iter().map(|(_, plots)| plots)),
            episodes: EpisodeSection::all(&report.episode_details, assets),
            generator: assets.generator,
        }
    }
}

impl VerdictFragment {
    pub(super) fn new(report: &JobReport, assets: Assets<'_>, episode_link: &str) -> Self {
        Self { r: ReportParts::new(report, assets, episode_link) }
    }
}

impl ProgressFragment {
    pub(super) fn new(report: &JobReport, episode_link: &str) -> Self {
        Self { r: ReportParts::new(report, Assets::default(), episode_link) }
    }
}

impl EpisodeFragment {
    pub(super) fn new(episode: &EpisodeResult, assets: Assets<'_>) -> Self {
        Self { e: EpisodeSection::with_player(episode, assets) }
    }
}

impl ReportParts {
    fn new(report: &JobReport, assets: Assets<'_>, episode_link: &str) -> Self {
        let scenario = assets.scenario.map_or_else(|| report.scenario.to_string(), |card| clean(&card.name));
        let gravest = Gravest::of(report);
        let summaries = ClauseSummary::of(&report.episode_details);
        Self {
            headline: outcome::headline(report),
            tone: match report.verdict {
                Some(Verdict::Safe) => "good",
                Some(Verdict::Unsafe) => "bad",
                Some(Verdict::Inconclusive) | None => "open",
            },
            lead: lead(report, gravest.as_ref()),
            achieved: achieved(report),
            closest: closest(report),
            still: gravest.as_ref().and_then(|gravest| StillView::of(gravest, assets.addresses)),
            episode_link: episode_link.to_owned(),
            blame: report.blame.map(outcome::blame),
            reviewed: outcome::reviewed(report),
            review: report.review_reasons.iter().map(|&r| outcome::review(r)).collect(),
            notes: report.warnings.iter().map(|w| clean(w)).collect(),
            policy: clean(&report.policy_name),
            scenario,
            description: assets.scenario.map(|card| clean(&card.description)),
            scores: scores(report),
            facts: facts(report),
            engine: engine(report),
            sentences: statistics::sentences(report),
            harm: harm(report),
            bound: report.statistics.as_ref().map(BoundChart::of),
            quadrants: report.quadrants,
            margins: MarginBar::all(&summaries),
            grid: EpisodeGrid::of(&report.episode_details),
            factors: report
                .sensitivity
                .iter()
                .find(|clause| !clause.rows.is_empty())
                .map(|clause| clause.rows.iter().map(|row| words::percent(row.factor)).collect())
                .unwrap_or_default(),
            sensitivity: report.sensitivity.iter().map(SensitivityView::of).collect(),
            signed_by: report.signed_by.as_deref().map(clean),
            attempts: report.replaced_attempts.iter().map(attempt).collect(),
            gaps: gaps::gaps(report),
            command: run_again::reproduce(report),
            policy_word: run_again::policy_word(report),
            measured: report.policy_identity == PolicyIdentity::Measured,
        }
    }
}

/// Describes an attempt that was replaced.
fn attempt(attempt: &ReplacedAttempt) -> String {
    format!("Episode {}: {} ({})", attempt.episode, attempt.reason.words(), clean(&attempt.evidence))
}

fn scores(report: &JobReport) -> Vec<ScoreBar> {
    let all = [
        ("score", report.score),
        ("composite", report.composite_score),
        ("progress", report.progress_score),
        ("safety", report.safety_score),
        ("consistency", report.consistency),
        ("success rate", report.success_rate),
    ];
    all.into_iter()
        .filter_map(|(name, value)| {
            value.map(|x| ScoreBar {
                name,
                value: words::score(x),
                percent: (x * 100.0).clamp(0.0, 100.0),
                tone: tone(x),
            })
        })
        .collect()
}

/// Returns the class of a score's colour.
fn tone(score: f64) -> &'static str {
    match score {
        x if x >= HIGH_SCORE => "good",
        x if x < LOW_SCORE => "bad",
        _ => "open",
    }
}

/// A fact in words, and its exact value where the words are rounded.
pub(super) struct Fact {
    name: &'static str,
    value: String,
    exact: Option<String>,
}

impl Fact {
    fn new((name, value): (&'static str, String)) -> Self {
        Self { name, value, exact: None }
    }

    /// Returns a time in seconds, with its exact value.
    fn time(name: &'static str, exact: Option<String>) -> Self {
        Self { name, value: exact.as_deref().map_or_else(|| "-".to_owned(), words::moment), exact }
    }
}

fn facts(report: &JobReport) -> Vec<Fact> {
    let profile = report.render_profile.map(|version| ("Render profile", version.to_string()));
    let facts = vec![
        ("Policy", clean(&report.policy_name)),
        ("Policy identity", clean(&outcome::identity(report))),
        ("Scenario", format!("{} {}", report.scenario, clean(&report.scenario_version))),
        ("Scenario digest", format!("sha256 {}", report.scenario_digest)),
        ("Episodes", format!("{} of {}", report.progress.episodes_done, report.num_episodes)),
        ("Seed", report.seed.to_string()),
        ("Policy key", report.policy_key.as_ref().map_or_else(|| "-".to_owned(), PolicyKey::to_hex)),
        ("Job", report.job_id.to_string()),
    ];
    let times = [
        Fact::time("Accepted", Some(report.created_at.to_string())),
        Fact::time("Completed", report.completed_at.map(|time| time.to_string())),
    ];
    facts.into_iter().map(Fact::new).chain(times).chain(profile.map(Fact::new)).collect()
}

fn engine(report: &JobReport) -> Vec<(&'static str, String)> {
    let Some(print) = &report.fingerprint else { return Vec::new() };
    vec![
        ("MuJoCo", clean(&print.mujoco)),
        ("libmujoco", format!("sha256 {}", print.libmujoco_sha256)),
        ("CPU features", clean(&print.cpu_features.join(" "))),
        ("glibc", clean(&print.glibc)),
        ("Runtime (policy)", print.runtime.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string)),
        ("numpy (policy)", clean(&print.numpy)),
        ("BLAS kernel", clean(&print.blas_core)),
        ("Scorer", clean(&print.scorer_version)),
        ("Isolation of policies", print.isolation.to_string()),
    ]
}

fn harm(report: &JobReport) -> Option<String> {
    if report.statistics?.violations == 0 {
        return None;
    }
    let (share, severity, time) = (report.unsafe_success_share?, report.violation_severity?, report.unsafe_time_s?);
    Some(format!(
        "Succeeded unsafely: {} of the episodes. Mean severity of the worst violation: {}. Simulated time in critical \
         violation: {}.",
        words::percent(share),
        words::score(severity),
        words::seconds(time)
    ))
}
