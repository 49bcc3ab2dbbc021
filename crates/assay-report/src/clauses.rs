//! Summary of one clause over all episodes of a job.

use assay_model::{ClauseResult, ClauseStatus, EpisodeResult};

use crate::words::{counted, ranges};

/// Maximum number of episodes named individually in a status.
const MAX_NAMED: usize = 8;

/// Summary of a clause over all episodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClauseSummary<'a> {
    /// Properties of the clause, as reported by its first episode.
    pub clause: &'a ClauseResult,
    /// Smallest margin over all episodes; `None` if no margin is finite.
    pub worst: Option<WorstMargin>,
    /// Episodes in which the clause was satisfied.
    pub satisfied: Vec<u32>,
    /// Episodes in which the clause was violated.
    pub violated: Vec<u32>,
    /// Episodes that ended before the clause was decided.
    pub undetermined: Vec<u32>,
    /// Episodes in which the clause's premise never became true, although the clause requires that it does.
    pub not_applicable: Vec<u32>,
    /// Episodes in which the clause was satisfied only because its premise never became true.
    pub vacuous: Vec<u32>,
    /// Number of violations (intervals) over all episodes.
    pub intervals: u32,
}

/// Smallest margin of a clause, with its episode and time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstMargin {
    /// Margin in the clause's unit, negative beyond the limit.
    pub robustness: f64,
    /// Measured quantity at that time, in the clause's unit; `None` if the formula is not a comparison with a limit.
    pub value: Option<f64>,
    /// Index of the episode.
    pub episode: u32,
    /// Time of the smallest margin, in simulated seconds.
    pub time_s: Option<f64>,
}

impl<'a> ClauseSummary<'a> {
    /// Returns the summaries of a job's clauses, in the scenario's order.
    #[must_use]
    pub fn of(episodes: &'a [EpisodeResult]) -> Vec<Self> {
        let mut summaries: Vec<Self> = Vec::new();
        for episode in episodes {
            for clause in &episode.clauses {
                let at = summaries.iter().position(|s| s.clause.id == clause.id).unwrap_or_else(|| {
                    summaries.push(Self::empty(clause));
                    summaries.len() - 1
                });
                summaries[at].add(episode, clause);
            }
        }
        summaries
    }

    fn empty(clause: &'a ClauseResult) -> Self {
        Self {
            clause,
            worst: None,
            satisfied: Vec::new(),
            violated: Vec::new(),
            undetermined: Vec::new(),
            not_applicable: Vec::new(),
            vacuous: Vec::new(),
            intervals: 0,
        }
    }

    fn add(&mut self, episode: &EpisodeResult, clause: &ClauseResult) {
        let index = episode.episode;
        match clause.status {
            ClauseStatus::Satisfied => self.satisfied.push(index),
            ClauseStatus::Violated => self.violated.push(index),
            ClauseStatus::Undetermined => self.undetermined.push(index),
            ClauseStatus::NotApplicable => self.not_applicable.push(index),
        }
        if clause.vacuous && clause.status == ClauseStatus::Satisfied {
            self.vacuous.push(index);
        }
        self.intervals += clause.violation_count;
        let Some(robustness) = clause.robustness else { return };
        if self.worst.is_none_or(|worst| robustness < worst.robustness) {
            let value = clause.worst_value;
            self.worst = Some(WorstMargin { robustness, value, episode: index, time_s: clause.worst_time_s });
        }
    }

    /// Returns the worst status over the episodes: violated, then undetermined, not applicable and satisfied.
    #[must_use]
    pub fn status(&self) -> ClauseStatus {
        [
            (&self.violated, ClauseStatus::Violated),
            (&self.undetermined, ClauseStatus::Undetermined),
            (&self.not_applicable, ClauseStatus::NotApplicable),
        ]
        .into_iter()
        .find(|(episodes, _)| !episodes.is_empty())
        .map_or(ClauseStatus::Satisfied, |(_, status)| status)
    }

    /// Describes the status, with the episodes concerned.
    #[must_use]
    pub fn status_words(&self) -> String {
        let mut parts = Vec::new();
        for (episodes, word) in [
            (&self.violated, "violated"),
            (&self.undetermined, "undetermined"),
            (&self.not_applicable, "not applicable"),
        ] {
            if !episodes.is_empty() {
                parts.push(format!("{word} in {}", named(episodes)));
            }
        }
        if parts.is_empty() {
            parts.push("satisfied".to_owned());
        }
        if !self.vacuous.is_empty() {
            parts.push(format!("vacuous in {}", named(&self.vacuous)));
        }
        parts.join("; ")
    }
}

fn named(episodes: &[u32]) -> String {
    if episodes.len() > MAX_NAMED {
        return counted(episodes.len(), "episode");
    }
    format!("ep. {}", ranges(episodes))
}
