//! View of the report for the page's template: text and numbers, ready for display.

use askama::Template;
use assay_model::{JobReport, PolicyIdentity, PolicyKey, Quadrants, Verdict};

use super::assets::Assets;
use super::charts::BoundChart;
use super::display::{clean, tone_of};
use super::episode::EpisodeSection;
use super::gaps;
use super::plot::LatencyView;
use crate::{ClauseSummary, outcome, run_again, statistics, words};

#[derive(Template)]
#[template(path = "report.html")]
pub(super) struct ReportPage<'a> {
    headline: &'static str,
    tone: &'static str,
    reason: String,
    blame: Option<&'static str>,
    review: Vec<&'static str>,
    reviewed: Option<String>,
    notes: Vec<String>,
    policy: String,
    scenario: String,
    description: Option<String>,
    scores: Vec<ScoreBar>,
    facts: Vec<(&'static str, String)>,
    engine: Vec<(&'static str, String)>,
    sentences: Vec<String>,
    harm: Option<String>,
    bound: Option<BoundChart>,
    quadrants: Option<Quadrants>,
    clauses: Vec<ClauseView>,
    factors: Vec<String>,
    sensitivity: Vec<SensitivityView>,
    latency: Option<LatencyView>,
    signed_by: Option<String>,
    episodes: Vec<EpisodeSection>,
    gaps: Vec<String>,
    command: String,
    policy_word: String,
    measured: bool,
    generator: &'a str,
}

/// Bar of a score.
pub(super) struct ScoreBar {
    name: &'static str,
    value: String,
    percent: f64,
}

/// Row of a clause.
pub(super) struct ClauseView {
    id: String,
    level: &'static str,
    limit: String,
    value: String,
    margin: String,
    when: String,
    episode: Option<u32>,
    status: String,
    tone: &'static str,
    standard: String,
}

/// Results of a clause at other limits.
pub(super) struct SensitivityView {
    clause: String,
    limit: String,
    worst: String,
    /// By limit: number of episodes with a violation, and the CSS class.
    cells: Vec<(String, &'static str)>,
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
            (format!("{}{open}", row.violated), tone)
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
        let scenario = assets.scenario.map_or_else(|| report.scenario.to_string(), |card| clean(&card.name));
        Self {
            headline: outcome::headline(report),
            tone: match report.verdict {
                Some(Verdict::Safe) => "good",
                Some(Verdict::Unsafe) => "bad",
                Some(Verdict::Inconclusive) | None => "open",
            },
            reason: clean(&outcome::reason(report)),
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
            clauses: ClauseSummary::of(&report.episode_details).iter().map(ClauseView::of).collect(),
            episodes: EpisodeSection::all(&report.episode_details, assets),
            factors: report
                .sensitivity
                .iter()
                .find(|clause| !clause.rows.is_empty())
                .map(|clause| clause.rows.iter().map(|row| words::percent(row.factor)).collect())
                .unwrap_or_default(),
            sensitivity: report.sensitivity.iter().map(SensitivityView::of).collect(),
            latency: LatencyView::of(assets.plots.iter().map(|(_, plots)| plots)),
            signed_by: report.signed_by.as_deref().map(clean),
            gaps: gaps::gaps(report),
            command: run_again::reproduce(report),
            policy_word: run_again::policy_word(report),
            measured: report.policy_identity == PolicyIdentity::Measured,
            generator: assets.generator,
        }
    }
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
            value.map(|x| ScoreBar { name, value: words::score(x), percent: (x * 100.0).clamp(0.0, 100.0) })
        })
        .collect()
}

fn facts(report: &JobReport) -> Vec<(&'static str, String)> {
    let profile = report.render_profile.map(|version| ("Render profile", version.to_string()));
    let mut facts = vec![
        ("Policy", clean(&report.policy_name)),
        ("Policy identity", clean(&outcome::identity(report))),
        ("Scenario", format!("{} {}", report.scenario, clean(&report.scenario_version))),
        ("Scenario digest", format!("sha256 {}", report.scenario_digest)),
        ("Episodes", format!("{} of {}", report.progress.episodes_done, report.num_episodes)),
        ("Seed", report.seed.to_string()),
        ("Policy key", report.policy_key.as_ref().map_or_else(|| "-".to_owned(), PolicyKey::to_hex)),
        ("Job", report.job_id.to_string()),
        ("Accepted", report.created_at.to_string()),
        ("Completed", report.completed_at.map_or_else(|| "-".to_owned(), |t| t.to_string())),
    ];
    facts.extend(profile);
    facts
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

impl ClauseView {
    fn of(summary: &ClauseSummary<'_>) -> Self {
        let clause = summary.clause;
        let unit = clean(&clause.unit);
        let worst = summary.worst;
        let or_nothing = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        Self {
            id: clean(&clause.id),
            level: summary.clause.level.as_str(),
            limit: words::with_unit(clause.limit, &unit),
            value: or_nothing(worst.and_then(|w| w.value).map(|v| words::with_unit(v, &unit))),
            margin: or_nothing(worst.map(|w| words::signed(w.robustness))),
            when: or_nothing(worst.and_then(|w| w.time_s).map(words::seconds)),
            episode: worst.map(|w| w.episode),
            status: summary.status_words(),
            tone: tone_of(clause.level, summary.status()),
            standard: clean(&clause.standard),
        }
    }
}
