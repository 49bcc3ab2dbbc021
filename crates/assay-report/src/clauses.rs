//! One clause over all episodes of a job.

use assay_model::{ClauseResult, ClauseStatus, EpisodeResult};

use crate::words::{counted, ranges};

/// Episodes named one by one in a status.
const MAX_NAMED: usize = 8;

/// Summary of a clause over all episodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClauseSummary<'a> {
    /// The clause's facts, as its first episode reports them.
    pub clause: &'a ClauseResult,
    /// Where it came closest to its limit, or furthest beyond it; `None` when no margin is finite.
    pub worst: Option<WorstMargin>,
    /// Episodes with each status.
    pub satisfied: Vec<u32>,
    /// It was broken.
    pub violated: Vec<u32>,
    /// Cut off before it could be decided.
    pub undetermined: Vec<u32>,
    /// Its premise never fired although it must.
    pub not_applicable: Vec<u32>,
    /// Satisfied only because nothing put it to the test.
    pub vacuous: Vec<u32>,
    /// Intervals of violation, over all episodes.
    pub intervals: u32,
}

/// The least margin of a clause, with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstMargin {
    /// Margin in the clause's unit, negative beyond the limit.
    pub robustness: f64,
    /// The measured quantity there, in the clause's unit; `None` where the formula is no comparison with a limit.
    pub value: Option<f64>,
    /// In which episode.
    pub episode: u32,
    /// When, in simulated seconds.
    pub time_s: Option<f64>,
}

impl<'a> ClauseSummary<'a> {
    /// The clauses of a job, in the scenario's order.
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

    /// The worst status over the episodes: violated, then what leaves the question open, then satisfied.
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

    /// The status in words, with the episodes it is about.
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
            parts.push(format!("never put to the test in {}", named(&self.vacuous)));
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
