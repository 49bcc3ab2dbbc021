//! Section of one episode.

use assay_model::{
    ClauseEvent, ClauseResult, ClauseStatus, EpisodePlots, EpisodeResult, EpisodeStatus, EventBody, Level, Violation,
};

use super::assets::{Addresses, Assets};
use super::charts::Timeline;
use super::display::{clean, status_word, tone_of};
use super::link::link;
use super::plot::PlotView;
use super::still::moment;
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
    pub(super) chunk: Option<u32>,
    pub(super) trace_hash: String,
    pub(super) trace_head: String,
    pub(super) open: bool,
    pub(super) video: Option<String>,
    /// Link to the video at the worst moment of the gravest violation, or to its beginning.
    pub(super) player: Option<String>,
    pub(super) log: Option<String>,
    pub(super) log_name: String,
    pub(super) timeline: Option<Timeline>,
    pub(super) stages: Vec<StageView>,
    pub(super) clauses: Vec<EpisodeClause>,
    pub(super) violations: Vec<ViolationView>,
    /// Numbers of intervals that the result does not list, with their clauses.
    pub(super) unlisted: Vec<String>,
    pub(super) error: Option<ErrorView>,
    pub(super) plots: Vec<PlotView>,
    /// Violated clauses, with the times to look at.
    pub(super) moments: Vec<MomentView>,
    pub(super) evidence: Vec<FileView>,
    pub(super) notes: Vec<String>,
    pub(super) attempts: Vec<String>,
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
    pub(super) title: Option<String>,
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
    pub(super) start_s: f64,
    pub(super) end: String,
    pub(super) end_s: f64,
    /// Value at the start.
    pub(super) onset: Option<String>,
    pub(super) value: String,
    pub(super) limit: String,
    pub(super) margin: String,
    pub(super) involved: String,
    pub(super) video: Option<String>,
}

/// The onset of a clause's violation and its worst moment, with links into the video.
pub(super) struct MomentView {
    pub(super) clause: String,
    pub(super) title: Option<String>,
    pub(super) tone: &'static str,
    pub(super) value: String,
    pub(super) involved: Option<String>,
    pub(super) onset: Option<Moment>,
    pub(super) worst: Option<Moment>,
}

/// A time, and the link to it.
pub(super) struct Moment {
    pub(super) time: String,
    pub(super) time_s: f64,
    pub(super) video: Option<String>,
}

/// A file of evidence.
pub(super) struct FileView {
    pub(super) name: String,
    pub(super) sha256: String,
    pub(super) size: String,
    pub(super) link: Option<String>,
}

/// Error report for the policy's author.
pub(super) struct ErrorView {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) advice: Option<String>,
    pub(super) log: String,
}

impl EpisodeSection {
    /// Returns the sections of a job, the worst first: critical violations, episodes without evidence, warnings.
    pub(super) fn all(episodes: &[EpisodeResult], assets: Assets<'_>) -> Vec<Self> {
        let plots = |index| assets.plots.iter().find(|(of, _)| *of == index).map(|(_, plots)| plots);
        let open = episodes.len() <= ALL_OPEN;
        let mut sections: Vec<Self> =
            episodes.iter().map(|e| Self::of(e, plots(e.episode), assets.addresses, open)).collect();
        sections.sort_by_key(|section| match (section.safety_tone, section.tone) {
            ("bad", _) => 0,
            (_, "bad") => 1,
            ("open", _) => 2,
            _ => 3,
        });
        sections
    }

    /// Returns the section of an episode on a page of its own: with links to its moments and files.
    pub(super) fn with_player(episode: &EpisodeResult, assets: Assets<'_>) -> Self {
        let plots = assets.plots.iter().find(|(of, _)| *of == episode.episode).map(|(_, plots)| plots);
        let mut section = Self::of(episode, plots, assets.addresses, true);
        // One player shows all of them; a script follows clicks into the plots.
        for plot in &mut section.plots {
            plot.video = None;
            plot.spans.iter_mut().for_each(|span| span.video = None);
        }
        let worst = section.moments.first().and_then(|moment| moment.worst.as_ref());
        section.player = worst.and_then(|worst| worst.video.clone()).or_else(|| section.video.clone());
        section.evidence = episode.evidence.iter().map(|file| FileView::of(file, assets.addresses)).collect();
        section
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
            chunk: episode.chunk,
            trace_head: episode.trace_hash.map_or_else(|| "-".to_owned(), |hash| format!("{hash:.12}")),
            trace_hash: episode.trace_hash.map_or_else(|| "-".to_owned(), |hash| hash.to_string()),
            open: open || !completed || safety_tone != "plain",
            log: link(episode.log_path.as_ref(), addresses),
            log_name: episode.log_path.as_deref().map(clean).unwrap_or_default(),
            plots: plots.map(|plots| PlotView::all(episode, plots, video.as_deref())).unwrap_or_default(),
            judge: episode.judge.as_ref().map(|judgement| clean(&outcome::judgement(judgement))),
            timeline: Timeline::of(episode),
            stages: episode.stages.iter().map(StageView::of).collect(),
            clauses: episode.clauses.iter().map(EpisodeClause::of).collect(),
            player: None,
            moments: MomentView::all(episode, video.as_deref()),
            evidence: Vec::new(),
            notes: episode.unconfirmed.iter().chain(&episode.evidence_notes).map(|note| clean(note)).collect(),
            attempts: episode
                .replaced_attempts
                .iter()
                .map(|attempt| format!("{} ({})", attempt.reason.words(), clean(&attempt.evidence)))
                .collect(),
            violations: episode.violations.iter().map(|v| ViolationView::of(v, video.as_deref())).collect(),
            unlisted: unlisted(episode),
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

/// Returns the violated clauses of which the result lists only the first intervals, with the number of the others.
fn unlisted(episode: &EpisodeResult) -> Vec<String> {
    let more = |clause: &ClauseResult| {
        let listed = episode.violations.iter().filter(|violation| violation.clause == clause.id).count();
        let rest = usize::try_from(clause.violation_count).unwrap_or(usize::MAX).saturating_sub(listed);
        let noun = if rest == 1 { "interval" } else { "intervals" };
        (rest > 0).then(|| format!("{rest} more {noun} of {}", clean(&clause.id)))
    };
    episode.clauses.iter().filter_map(more).collect()
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
            title: clause.title.as_deref().map(clean),
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
        let involved = EventBody::in_words(&EventBody::all(violation));
        let peak = violation.peak_s.map(|time_s| format!(" at {}", words::seconds(time_s))).unwrap_or_default();
        Self {
            clause: clean(&violation.clause),
            tone: tone_of(violation.level, ClauseStatus::Violated),
            start: words::seconds(violation.start_s),
            start_s: violation.start_s,
            end: words::seconds(violation.end_s),
            end_s: violation.end_s,
            onset: violation.onset_value.map(|v| words::with_unit(v, &unit)),
            value: violation.value.map_or_else(|| "-".to_owned(), |v| format!("{}{peak}", words::with_unit(v, &unit))),
            limit: words::with_unit(violation.limit, &unit),
            margin: violation.robustness.map_or_else(|| "-".to_owned(), words::signed),
            involved: involved.map_or_else(|| "-".to_owned(), |involved| clean(&involved)),
            video: video.map(|video| moment(video, violation.start_s)),
        }
    }
}

impl MomentView {
    /// Returns the violated clauses of an episode, the gravest first.
    fn all(episode: &EpisodeResult, video: Option<&str>) -> Vec<Self> {
        let mut violated: Vec<_> = episode.clauses.iter().filter(|c| c.status == ClauseStatus::Violated).collect();
        violated.sort_by(|a, b| a.gravity().compare(&b.gravity()));
        violated.into_iter().map(|clause| Self::of(episode, clause, video)).collect()
    }

    fn of(episode: &EpisodeResult, clause: &ClauseResult, video: Option<&str>) -> Self {
        let at = |time_s: f64| Moment {
            time: words::seconds(time_s),
            time_s,
            video: video.map(|video| moment(video, time_s)),
        };
        let event = ClauseEvent::of_violation(episode, clause);
        Self {
            clause: clean(&clause.id),
            title: clause.title.as_deref().map(clean),
            tone: tone_of(clause.level, clause.status),
            value: clean(&event.course()),
            involved: EventBody::in_words(&event.bodies).map(|names| clean(&names)),
            onset: event.onset.time_s.map(at),
            worst: event.peak.time_s.map(at),
        }
    }
}

impl FileView {
    fn of(file: &assay_model::Artifact, addresses: Addresses<'_>) -> Self {
        Self {
            name: clean(&file.name),
            sha256: file.sha256.to_string(),
            size: words::bytes(file.size_bytes),
            link: link(Some(&file.name), addresses),
        }
    }
}
