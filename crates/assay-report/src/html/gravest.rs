//! The worst violation of a job, and the sentences that lead its pages.

use assay_model::{ClauseEvent, ClauseStatus, EpisodeResult, JobReport, Verdict};

use super::display::clean;
use crate::outcome;
use crate::words::{counted, number};

/// The worst violation and its episode.
#[derive(Debug, Clone)]
pub(super) struct Gravest<'a> {
    pub(super) episode: &'a EpisodeResult,
    pub(super) event: ClauseEvent,
}

impl<'a> Gravest<'a> {
    /// Returns the worst violation of a job; `None` if no clause was violated.
    pub(super) fn of(report: &'a JobReport) -> Option<Self> {
        let event = outcome::worst(report)?;
        let episode = report.episode_details.iter().find(|episode| episode.episode == event.episode)?;
        Some(Self { episode, event })
    }

    /// Returns the time of the peak, or of the onset if that is unknown, in seconds.
    pub(super) fn worst_s(&self) -> Option<f64> {
        self.event.peak.time_s.or(self.event.onset.time_s)
    }

    /// Returns the violation in words, and the number of episodes that violate its clause.
    fn sentence(&self, job: &JobReport) -> String {
        let event = clean(&self.event.violation());
        let episodes = &job.episode_details;
        let is_violated = |clause: &assay_model::ClauseResult| {
            clause.id == self.event.clause && clause.status == ClauseStatus::Violated
        };
        let count = episodes.iter().filter(|episode| episode.clauses.iter().any(is_violated)).count();
        match episodes.len() {
            1 => outcome::sentence(&event),
            all => outcome::sentence(&format!("{event}; violated in {count} of {}", counted(all, "episode"))),
        }
    }
}

/// Returns the sentence that leads a page: the worst violation, or the reason for any other outcome.
pub(super) fn lead(report: &JobReport, gravest: Option<&Gravest<'_>>) -> String {
    match gravest {
        Some(gravest) if report.verdict != Some(Verdict::Inconclusive) => gravest.sentence(report),
        _ => clean(&outcome::reason(report)),
    }
}

/// Returns a sentence about the task, if no episode achieved it, or some did not; `None` without results.
pub(super) fn achieved(report: &JobReport) -> Option<String> {
    let episodes = &report.episode_details;
    if episodes.is_empty() {
        return None;
    }
    let done = episodes.iter().filter(|episode| episode.success).count();
    let nothing = episodes.iter().all(|episode| episode.progress_score <= 0.0);
    Some(match done {
        0 if nothing => "Nothing was achieved: no episode reached any stage of the task.".to_owned(),
        0 if episodes.len() == 1 => "The task was not done.".to_owned(),
        0 => format!("The task was not done in any of {}.", counted(episodes.len(), "episode")),
        n if n == episodes.len() => match n {
            1 => "The task was done in the only episode.".to_owned(),
            n => format!("The task was done in all {n} episodes."),
        },
        n => format!("The task was done in {n} of {}.", counted(episodes.len(), "episode")),
    })
}

/// Returns a sentence about the clause that came closest to its limit; `None` if one was violated or none was measured.
pub(super) fn closest(report: &JobReport) -> Option<String> {
    outcome::closest_sentence(report).map(|text| clean(&text))
}

/// Returns a share of the scale in words: `+34 %`.
pub(super) fn share(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{} %", number((share.abs() * 1000.0).round() / 10.0))
}
