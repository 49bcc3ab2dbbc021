//! Section of one episode.

use assay_model::{ClauseResult, ClauseStatus, EpisodePlots, EpisodeResult, EpisodeStatus, Level, Violation};

use super::assets::{Addresses, Assets};
use super::charts::Timeline;
use super::display::{clean, status_word, tone_of};
use super::plot::PlotView;
use crate::{outcome, remedy, words};

/// Maximum number of episodes for which all sections are initially open; beyond it, only those with a violation or an
/// incomplete episode are.
const ALL_OPEN: usize = 6;

/// View of an episode for the template.
pub(super) struct EpisodeSection {
    pub(super) index: u32,
    pub(super) seed: u64,
    pub(super) ending: &'static str,
    pub(super) tone: &'static str,
    pub(super) done: bool,
    pub(super) progress: String,
    pub(super) safety: String,
    pub(super) safety_tone: &'static str,
    pub(super) composite: String,
    pub(super) steps: u32,
    pub(super) time: String,
    pub(super) latency: String,
    pub(super) deadline_misses: u32,
    pub(super) clipped_actions: u32,
    pub(super) trace_hash: String,
    pub(super) trace_head: String,
    pub(super) open: bool,
    pub(super) video: Option<String>,
    pub(super) log: Option<String>,
    pub(super) timeline: Option<Timeline>,
    pub(super) stages: Vec<StageView>,
    pub(super) clauses: Vec<EpisodeClause>,
    pub(super) violations: Vec<ViolationView>,
    pub(super) error: Option<ErrorView>,
    pub(super) plots: Vec<PlotView>,
    pub(super) judge: Option<String>,
}

/// Row of a stage.
pub(super) struct StageView {
    pub(super) name: String,
    pub(super) points: String,
    pub(super) passed: bool,
    pub(super) time: String,
}

/// Row of a clause.
pub(super) struct EpisodeClause {
    pub(super) id: String,
    pub(super) limit: String,
    pub(super) value: String,
    pub(super) margin: String,
    pub(super) when: String,
    pub(super) status: &'static str,
    pub(super) vacuous: bool,
    pub(super) tone: &'static str,
}

/// Row of a violation.
pub(super) struct ViolationView {
    pub(super) clause: String,
    pub(super) tone: &'static str,
    pub(super) start: String,
    pub(super) end: String,
    pub(super) value: String,
    pub(super) limit: String,
    pub(super) margin: String,
    pub(super) involved: String,
    pub(super) video: Option<String>,
}

/// Error report for the policy's author.
pub(super) struct ErrorView {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) advice: Option<String>,
    pub(super) log: String,
}

impl EpisodeSection {
    /// Returns the sections of a job, in order.
    pub(super) fn all(episodes: &[EpisodeResult], assets: Assets<'_>) -> Vec<Self> {
        let plots = |index| assets.plots.iter().find(|(of, _)| *of == index).map(|(_, plots)| plots);
        let open = episodes.len() <= ALL_OPEN;
        episodes.iter().map(|e| Self::of(e, plots(e.episode), assets.addresses, open)).collect()
    }

    fn of(episode: &EpisodeResult, plots: Option<&EpisodePlots>, addresses: Addresses<'_>, open: bool) -> Self {
        let violated =
            |level: Level| episode.clauses.iter().any(|c| c.level == level && c.status == ClauseStatus::Violated);
        let safety_tone = if violated(Level::Critical) {
            "bad"
        } else if violated(Level::Warning) {
            "open"
        } else {
            "plain"
        };
        let video = link(episode.video_path.as_ref(), addresses);
        let completed = episode.status == EpisodeStatus::Completed;
        Self {
            index: episode.episode,
            seed: episode.seed,
            ending: outcome::ending(episode),
            tone: if completed { "plain" } else { "bad" },
            done: episode.success,
            progress: words::score(episode.progress_score),
            safety: words::score(episode.safety_score),
            safety_tone,
            composite: words::score(episode.composite_score),
            steps: episode.steps,
            time: words::seconds(episode.sim_time_s),
            latency: episode
                .policy_latency_ms
                .map_or_else(|| "-".to_owned(), |l| format!("{:.2}, {:.2} ms", l.p50, l.p99)),
            deadline_misses: episode.deadline_misses,
            clipped_actions: episode.clipped_actions,
            trace_head: episode.trace_hash.map_or_else(|| "-".to_owned(), |hash| format!("{hash:.12}")),
            trace_hash: episode.trace_hash.map_or_else(|| "-".to_owned(), |hash| hash.to_string()),
            open: open || !completed || safety_tone != "plain",
            log: link(episode.log_path.as_ref(), addresses),
            plots: plots.map(|plots| PlotView::all(episode, plots, video.as_deref())).unwrap_or_default(),
            judge: episode.judge.as_ref().map(|judgement| clean(&outcome::judgement(judgement))),
            timeline: Timeline::of(episode),
            stages: episode.stages.iter().map(StageView::of).collect(),
            clauses: episode.clauses.iter().map(EpisodeClause::of).collect(),
            violations: episode.violations.iter().map(|v| ViolationView::of(v, video.as_deref())).collect(),
            video,
            error: episode.error.as_ref().map(|e| ErrorView {
                code: clean(e.code.as_str()),
                message: clean(&e.message),
                advice: remedy::by_cause(&e.code, &e.message, &e.log_tail).map(|advice| clean(&advice)),
                log: assay_model::sanitise(&e.log_tail, usize::MAX),
            }),
        }
    }
}

impl StageView {
    fn of(stage: &assay_model::StageResult) -> Self {
        Self {
            name: clean(&stage.name),
            points: words::number(stage.points),
            passed: stage.passed,
            time: stage.time_s.map_or_else(|| "-".to_owned(), words::seconds),
        }
    }
}

impl EpisodeClause {
    fn of(clause: &ClauseResult) -> Self {
        let unit = clean(&clause.unit);
        Self {
            id: clean(&clause.id),
            limit: words::with_unit(clause.limit, &unit),
            value: clause.worst_value.map_or_else(|| "-".to_owned(), |v| words::with_unit(v, &unit)),
            margin: clause.robustness.map_or_else(|| "-".to_owned(), words::signed),
            when: clause.worst_time_s.map_or_else(|| "-".to_owned(), words::seconds),
            status: status_word(clause.status),
            vacuous: clause.vacuous,
            tone: tone_of(clause.level, clause.status),
        }
    }
}

impl ViolationView {
    fn of(violation: &Violation, video: Option<&str>) -> Self {
        let unit = clean(&violation.unit);
        Self {
            clause: clean(&violation.clause),
            tone: tone_of(violation.level, ClauseStatus::Violated),
            start: words::seconds(violation.start_s),
            end: words::seconds(violation.end_s),
            value: violation.value.map_or_else(|| "-".to_owned(), |v| words::with_unit(v, &unit)),
            limit: words::with_unit(violation.limit, &unit),
            margin: violation.robustness.map_or_else(|| "-".to_owned(), words::signed),
            involved: outcome::involved(violation).map_or_else(|| "-".to_owned(), |involved| clean(&involved)),
            // A media fragment (W3C Media Fragments URI 1.0): the player starts at this time, without a script.
            video: video.map(|video| format!("{video}#t={:.2}", violation.start_s)),
        }
    }
}

/// Returns the link to a file of evidence.
fn link(path: Option<&String>, addresses: Addresses<'_>) -> Option<String> {
    let target = match addresses {
        Some(addresses) => addresses.get(path?)?,
        None => path?,
    };
    address(target)
}

/// Returns the URL if a page may link to it: a path, or `http(s)`. Other schemes (`javascript:`, `data:`) are omitted.
fn address(url: &str) -> Option<String> {
    let url = clean(url);
    let before_path = url.split(['/', '?', '#']).next().unwrap_or_default();
    let relative = !before_path.contains(':') && !url.starts_with("//") && !url.contains('\\');
    let web = url.starts_with("https://") || url.starts_with("http://");
    (relative || web).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn only_paths_and_web_addresses_are_linked() {
        for good in ["episodes/000/video.mp4", "/artifacts/x?sig=a:b", "https://host/v.mp4", "http://h/v"] {
            assert_eq!(address(good).as_deref(), Some(good));
        }
        for bad in [
            "javascript:alert(1)",
            "java\tscript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "//h/x",
            "\\\\h\\x",
        ] {
            assert_eq!(address(bad), None, "{bad}");
        }
    }
}
