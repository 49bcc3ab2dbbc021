//! The one event that explains a job: its worst violation, or the clause that came closest to its limit. Every output
//! that names a violation is made from it: reason, statement, report, lists and captions.

mod gravity;
mod words;

use serde::{Deserialize, Serialize};

use crate::{ClauseResult, ClauseStatus, EpisodeResult, Harm, Level, SafeSide, Violation, safe_side};

pub use gravity::Gravity;

/// Relative error permitted for a margin that equals the best one.
const ROUNDING: f64 = 1e-9;

/// Violation of a clause in an episode, or, if the clause was satisfied, its smallest margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClauseEvent {
    /// Id of the clause.
    pub clause: String,
    /// The rule in words; the id in reports of earlier versions.
    pub title: String,
    /// Level of the clause.
    pub level: Level,
    /// Harm that the clause guards against; `null` in reports of earlier versions.
    pub harm: Option<Harm>,
    /// Index of the episode.
    pub episode: u32,
    /// Bodies or joint involved at the peak; empty if the clause was satisfied, or refers to none.
    pub bodies: Vec<EventBody>,
    /// Beginning of the violation. Equal to `peak` if the clause was satisfied.
    pub onset: EventMoment,
    /// Moment of the smallest margin.
    pub peak: EventMoment,
    /// Limit of the clause.
    pub limit: f64,
    /// Unit of the limit, the values and the margin.
    pub unit: String,
    /// Margin at the peak, negative when violated; `null` if it is not finite.
    pub margin: Option<f64>,
    /// Size of a violation of severity 1, in the clause's unit.
    pub scale: f64,
}

/// Time and value of a moment of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EventMoment {
    /// Simulated time, in seconds; `null` if it was not recorded, as in reports of earlier versions.
    pub time_s: Option<f64>,
    /// Measured value at that time, in the clause's unit; `null` if it was not recorded, or if the formula is not a
    /// comparison with a limit.
    pub value: Option<f64>,
}

/// Body or joint involved in a violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EventBody {
    /// Name in the scene.
    pub id: String,
    /// Display name.
    pub name: String,
}

impl EventBody {
    /// Returns the body with its display name: `arm/link6` is `arm link 6`.
    #[must_use]
    pub fn new(id: &str) -> Self {
        let mut name = String::new();
        let mut was_digit = None;
        for c in id.chars().map(|c| if matches!(c, '_' | '/' | '-' | ' ') { ' ' } else { c }) {
            let is_digit = c.is_ascii_digit();
            if is_digit && was_digit == Some(false) && !name.ends_with(' ') {
                name.push(' ');
            }
            if c != ' ' || !(name.is_empty() || name.ends_with(' ')) {
                name.push(c);
            }
            was_digit = Some(is_digit);
        }
        let name = name.trim_end();
        let name = if name.is_empty() { id } else { name };
        Self { id: id.to_owned(), name: name.to_owned() }
    }

    /// Returns the bodies or joints involved in a violation, each once.
    #[must_use]
    pub fn all(violation: &Violation) -> Vec<Self> {
        let mut bodies: Vec<Self> = Vec::new();
        for name in violation.involved.iter().flat_map(|involved| &involved.names) {
            if bodies.iter().all(|body| body.id != *name) {
                bodies.push(Self::new(name));
            }
        }
        bodies
    }

    /// Returns display names, then ids: `post 0 and arm link 6 (post_0, arm/link6)`; `None` without bodies.
    #[must_use]
    pub fn in_words(bodies: &[Self]) -> Option<String> {
        let names: Vec<&str> = bodies.iter().map(|body| body.name.as_str()).collect();
        let ids: Vec<&str> = bodies.iter().map(|body| body.id.as_str()).collect();
        let (last, others) = names.split_last()?;
        let named = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
        Some(if names == ids { named } else { format!("{named} ({})", ids.join(", ")) })
    }
}

impl ClauseEvent {
    /// Returns the worst violation of a job: critical clauses before warnings, then by the harm, then by the margin as
    /// a share of the scale; the first of equals. `None` if no clause was violated.
    #[must_use]
    pub fn worst(episodes: &[EpisodeResult]) -> Option<Self> {
        let (episode, clause) = gravest(episodes)?;
        Some(Self::of_violation(episode, clause))
    }

    /// Returns the satisfied clause with the smallest margin, as a share of its scale; `None` if a clause was violated,
    /// or if all stand at their best possible value.
    #[must_use]
    pub fn closest(episodes: &[EpisodeResult]) -> Option<Self> {
        let clauses =
            || episodes.iter().flat_map(|episode| episode.clauses.iter().map(move |clause| (episode, clause)));
        if clauses().any(|(_, clause)| clause.status == ClauseStatus::Violated) {
            return None;
        }
        let is_near =
            |clause: &ClauseResult| clause.status == ClauseStatus::Satisfied && !clause.vacuous && !is_at_best(clause);
        let measured = clauses().filter(|(_, clause)| is_near(clause));
        let shares = measured.filter_map(|(episode, clause)| Some((episode, clause, clause.margin()?)));
        let (episode, clause, _) = shares.min_by(|(_, _, a), (_, _, b)| a.total_cmp(b))?;
        let moment = EventMoment { time_s: clause.worst_time_s, value: clause.worst_value };
        Some(Self::at(episode, clause, [moment; 2], Vec::new()))
    }

    /// Returns the event of a violated clause in an episode: the interval with the smallest margin.
    #[must_use]
    pub fn of_violation(episode: &EpisodeResult, clause: &ClauseResult) -> Self {
        let margin = |violation: &Violation| violation.robustness.unwrap_or(f64::NEG_INFINITY);
        let listed = episode.violations.iter().filter(|violation| violation.clause == clause.id);
        let Some(interval) = listed.min_by(|a, b| margin(a).total_cmp(&margin(b))) else {
            let peak = EventMoment { time_s: clause.worst_time_s, value: clause.worst_value };
            return Self::at(episode, clause, [EventMoment { time_s: None, value: None }, peak], Vec::new());
        };
        Self::of_interval(episode, clause, interval)
    }

    /// Returns the event of one interval in which a clause was violated.
    #[must_use]
    pub fn of_interval(episode: &EpisodeResult, clause: &ClauseResult, interval: &Violation) -> Self {
        // Earlier versions did not record the peak's time; that of the clause is known.
        let is_worst = interval.robustness == clause.robustness;
        let known_s = clause.worst_time_s.filter(|time_s| is_worst && *time_s >= interval.start_s);
        let onset = EventMoment { time_s: Some(interval.start_s), value: interval.onset_value };
        let peak = EventMoment { time_s: interval.peak_s.or(known_s), value: interval.value };
        Self { margin: interval.robustness, ..Self::at(episode, clause, [onset, peak], EventBody::all(interval)) }
    }

    fn at(
        episode: &EpisodeResult,
        clause: &ClauseResult,
        [onset, peak]: [EventMoment; 2],
        bodies: Vec<EventBody>,
    ) -> Self {
        Self {
            clause: clause.id.clone(),
            title: clause.title.clone().unwrap_or_else(|| clause.id.clone()),
            level: clause.level,
            harm: clause.harm,
            episode: episode.episode,
            bodies,
            onset,
            peak,
            limit: clause.limit,
            unit: clause.unit.clone(),
            margin: clause.robustness,
            scale: clause.size(),
        }
    }
}

/// Returns the episode and clause of the worst violation.
pub(crate) fn gravest(episodes: &[EpisodeResult]) -> Option<(&EpisodeResult, &ClauseResult)> {
    let violated = episodes.iter().flat_map(|episode| {
        let clauses = episode.clauses.iter().filter(|clause| clause.status == ClauseStatus::Violated);
        clauses.map(move |clause| (episode, clause))
    });
    violated.min_by(|(_, a), (_, b)| a.gravity().compare(&b.gravity()))
}

/// Returns whether the clause's margin is the greatest possible one: nothing was touched, nothing came near.
fn is_at_best(clause: &ClauseResult) -> bool {
    let Some(margin) = clause.robustness else { return false };
    if let Some(best) = clause.best_margin {
        return margin >= best - ROUNDING * best.abs().max(clause.limit.abs());
    }
    // Reports of earlier versions do not contain it. A quantity at 0 below its limit has hardly a better value.
    let value = clause.worst_value.unwrap_or(f64::INFINITY);
    value.abs() <= ROUNDING * clause.limit.abs() && safe_side(clause) != Some(SafeSide::AtLeast)
}

#[cfg(test)]
mod tests;
