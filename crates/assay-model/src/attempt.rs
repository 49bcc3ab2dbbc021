//! Facts about attempts at an episode: the attempts that were replaced, and the critical violations that stand whatever
//! happened afterwards.
//!
//! An attempt whose policy has received an observation is replaced only on evidence from outside the policy. A critical
//! violation is recorded as it happens, before the next action is requested, so that no later event can undo it.

use serde::{Deserialize, Serialize};

use crate::{ClauseStatus, EpisodeResult, ReplacedAttempt, Violation};

/// Fact about an unfinished episode that outlives the attempt in which it was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum AttemptNote {
    /// The attempt was replaced.
    Replaced(ReplacedAttempt),
    /// A critical clause was violated in the attempt.
    Violated {
        /// Index of the episode in the job.
        episode: u32,
        /// The clause and the time of the violation; `end_s` is the end of the physics step that decided it.
        violation: Violation,
    },
}

impl AttemptNote {
    /// Returns the index of the episode in the job.
    #[must_use]
    pub fn episode(&self) -> u32 {
        match self {
            Self::Replaced(attempt) => attempt.episode,
            Self::Violated { episode, .. } => *episode,
        }
    }
}

impl EpisodeResult {
    /// Adds the facts left by earlier attempts at this episode: the list of replaced attempts, and every critical
    /// violation that is missing from this attempt. `weights` and `scales` are those of the clauses, as for
    /// [`EpisodeResult::scored`].
    #[must_use]
    pub fn with_notes(mut self, notes: &[AttemptNote], weights: &[f64], scales: &[f64]) -> Self {
        let (episode, mut changed) = (self.episode, false);
        for note in notes.iter().filter(|note| note.episode() == episode) {
            match note {
                AttemptNote::Replaced(attempt) => self.replaced_attempts.push(attempt.clone()),
                AttemptNote::Violated { violation, .. } => changed |= self.uphold(violation),
            }
        }
        if changed { self.scored(weights, scales) } else { self }
    }

    /// Adds a violation of an earlier attempt to this result. Returns false if this result already violates the clause.
    fn uphold(&mut self, violation: &Violation) -> bool {
        let clause = self.clauses.iter_mut().find(|clause| clause.id == violation.clause);
        let Some(clause) = clause.filter(|clause| clause.status != ClauseStatus::Violated) else { return false };
        clause.status = ClauseStatus::Violated;
        clause.vacuous = false;
        clause.violation_count = 1;
        clause.robustness = violation.robustness;
        clause.worst_value = violation.value;
        clause.worst_time_s = Some(violation.start_s);
        self.violations.push(violation.clone());
        self.violations.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        self.evidence_notes.push(format!(
            "clause {} was violated at {:.3} s of an earlier attempt at this episode; the violation stands, and the \
             trace of this attempt does not show it",
            violation.clause, violation.start_s
        ));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::tests::{clause, episode};
    use crate::{EpisodeStatus, Level, Plan, PolicyIdentity, ReplacementReason, ReviewReason, Verdict, conclude};

    fn violated(episode: u32) -> AttemptNote {
        let violation = Violation {
            clause: "force".into(),
            level: Level::Critical,
            start_s: 0.5,
            end_s: 0.502,
            value: Some(60.0),
            limit: 50.0,
            unit: "N".into(),
            robustness: Some(-10.0),
            involved: Vec::new(),
        };
        AttemptNote::Violated { episode, violation }
    }

    fn replaced(episode: u32) -> AttemptNote {
        let evidence = "signal 9\u{1b}[31m";
        AttemptNote::Replaced(ReplacedAttempt::new(episode, ReplacementReason::LaneDied, evidence))
    }

    fn clean() -> EpisodeResult {
        episode(0, EpisodeStatus::Completed, clause(Level::Critical, ClauseStatus::Satisfied, 20.0))
    }

    #[test]
    fn a_violation_of_a_replaced_attempt_stands() {
        let result = clean().with_notes(&[violated(0), replaced(0)], &[1.0], &[50.0]);
        assert!(result.has_critical_violation() && result.violations.len() == 1);
        assert_eq!((result.safety_score, result.composite_score), (0.5, 0.25));
        assert_eq!(result.replaced_attempts.len(), 1);
        assert!(!result.replaced_attempts[0].evidence.contains('\u{1b}'));
        let plan = Plan { episodes: 1, target: None, confidence_level: 0.95, max_violation_probability: 0.1 };
        let conclusion = conclude(&plan, PolicyIdentity::Measured, &[result]).expect("one episode");
        assert_eq!(conclusion.verdict, Verdict::Unsafe);
        assert_eq!(conclusion.replaced_attempts.len(), 1);
        assert!(conclusion.review_reasons.contains(&ReviewReason::EpisodeRepeated));
    }

    #[test]
    fn violations_of_this_attempt_are_not_counted_twice_and_other_episodes_are_unchanged() {
        let shown = episode(0, EpisodeStatus::Completed, clause(Level::Critical, ClauseStatus::Violated, -30.0));
        assert_eq!(shown.clone().with_notes(&[violated(0)], &[1.0], &[50.0]), shown);
        assert_eq!(clean().with_notes(&[violated(2), replaced(4)], &[1.0], &[50.0]), clean());
    }
}
