//! The gravest violation of a job, and the sentence that leads its pages.

use assay_model::{
    ClauseResult, ClauseStatus, EpisodeResult, JobReport, Level, SafeSide, Verdict, Violation, safe_side,
};

use super::display::clean;
use crate::words::{counted, number, percent, seconds, with_unit};
use crate::{ClauseSummary, outcome};

/// The violation that is furthest beyond its limit, as a share of the clause's scale; critical clauses come first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gravest<'a> {
    pub(super) episode: &'a EpisodeResult,
    pub(super) clause: &'a ClauseResult,
    /// Its interval with the smallest margin; `None` if the result lists none.
    pub(super) violation: Option<&'a Violation>,
}

impl<'a> Gravest<'a> {
    /// Returns the gravest violation of these episodes; `None` if no clause was violated.
    pub(super) fn of(episodes: &'a [EpisodeResult]) -> Option<Self> {
        let violated = episodes.iter().flat_map(|episode| {
            let clauses = episode.clauses.iter().filter(|clause| clause.status == ClauseStatus::Violated);
            clauses.map(move |clause| (episode, clause))
        });
        let rank = |clause: &ClauseResult| {
            let margin = clause.margin().unwrap_or(f64::NEG_INFINITY);
            (clause.level != Level::Critical, margin)
        };
        let (episode, clause) = violated.min_by(|(_, a), (_, b)| {
            let ((a_minor, a), (b_minor, b)) = (rank(a), rank(b));
            a_minor.cmp(&b_minor).then(a.total_cmp(&b))
        })?;
        Some(Self { episode, clause, violation: outcome::gravest(episode, &clause.id) })
    }

    /// Returns the time of the smallest margin, or the start of the violation if that is unknown, in seconds.
    pub(super) fn worst_s(&self) -> Option<f64> {
        self.clause.worst_time_s.or(self.violation.map(|violation| violation.start_s))
    }

    /// Returns the violation in words: `contact_force reached 83.1 N, 33.1 N beyond its limit of 50 N, ...`.
    fn sentence(&self, job: &JobReport) -> String {
        let (clause, unit) = (self.clause, clean(&self.clause.unit));
        let name = clean(&clause.id);
        let limit = with_unit(clause.limit, &unit);
        let what = match (safe_side(clause), clause.worst_value, clause.robustness) {
            (Some(side), Some(value), Some(margin)) => {
                let verb = if side == SafeSide::AtMost { "reached" } else { "fell to" };
                let beyond = with_unit(-margin, &unit);
                format!("{name} {verb} {}, {beyond} beyond its limit of {limit}", with_unit(value, &unit))
            }
            (_, _, Some(margin)) => format!("{name} was violated by {}", with_unit(-margin, &unit)),
            _ => format!("{name} was violated"),
        };
        let place = match self.worst_s() {
            Some(time) => format!(" in episode {} at {}", self.episode.episode, seconds(time)),
            None => format!(" in episode {}", self.episode.episode),
        };
        let between = self
            .violation
            .and_then(outcome::involved)
            .map_or_else(String::new, |names| format!(" ({})", clean(&names)));
        let episodes = &job.episode_details;
        let same =
            |e: &&EpisodeResult| e.clauses.iter().any(|c| c.id == clause.id && c.status == ClauseStatus::Violated);
        match episodes.len() {
            1 => format!("{what},{place}{between}."),
            all => {
                let count = episodes.iter().filter(same).count();
                format!("{what},{place}{between}; violated in {count} of {}.", counted(all, "episode"))
            }
        }
    }
}

/// Returns the sentence that leads a page: the gravest violation, or the reason for any other outcome, or the clause
/// that came closest to its limit.
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
pub(super) fn closest(summaries: &[ClauseSummary<'_>]) -> Option<String> {
    let margin = |summary: &ClauseSummary<'_>| summary.worst.map(|worst| worst.robustness / scale(summary.clause));
    let (summary, share) = summaries
        .iter()
        .filter_map(|summary| Some((summary, margin(summary)?)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
        .filter(|(_, share)| *share >= 0.0)?;
    let worst = summary.worst?;
    let unit = clean(&summary.clause.unit);
    let value = worst.value.map_or_else(String::new, |value| format!(" {} of", with_unit(value, &unit)));
    let time = worst.time_s.map_or_else(String::new, |time| format!(" at {}", seconds(time)));
    Some(format!(
        "Closest to its limit: {},{value} {} in episode {}{time}, with {} of its scale to spare.",
        clean(&summary.clause.id),
        with_unit(summary.clause.limit, &unit),
        worst.episode,
        percent(share)
    ))
}

/// Returns the size of a violation of severity 1, in the clause's unit.
pub(super) fn scale(clause: &ClauseResult) -> f64 {
    // Without a scale and with a limit of 0, one unit: as in `ClauseResult::margin`.
    clause.scale.unwrap_or(if clause.limit == 0.0 { 1.0 } else { clause.limit.abs() })
}

/// Returns a share of the scale in words: `+34 %`.
pub(super) fn share(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{} %", number((share.abs() * 1000.0).round() / 10.0))
}
