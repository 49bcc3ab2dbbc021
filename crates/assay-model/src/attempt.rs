//! Facts about attempts at an episode: the attempts that were replaced, and the critical violations that stand whatever
//! happened afterwards.
//!
//! An attempt whose policy has received an observation is replaced only on evidence from outside the policy. A critical
//! violation is recorded as it happens, before the next action is requested, so that no later event can undo it.
//!
//! A note that only a worker on another host vouches for names it. Unless a trace shows what it says, it decides
//! nothing: it makes the episode unconfirmed, and cannot be withdrawn.

use serde::{Deserialize, Serialize};

use crate::{
    ClauseStatus, EpisodeResult, Level, MAX_UNCONFIRMED, PolicyErrorCode, ReplacedAttempt, ReplacementReason, Violation,
};

/// The worker on another host that a note comes from, if the operator did not mark it trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoteOrigin {
    /// Name of the worker.
    pub worker: String,
    /// Number of the claim of the shard under which it sent the note.
    pub claim: u32,
}

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
        /// The only witness; `None` if this server, or a worker that it trusts, saw it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<NoteOrigin>,
    },
    /// The attempt failed in a way that no trace shows, according to a worker that is not trusted. The episode runs
    /// again elsewhere.
    Failed {
        /// Index of the episode in the job.
        episode: u32,
        /// The reason that it gave.
        #[schemars(with = "String")]
        code: PolicyErrorCode,
        /// The only witness.
        origin: NoteOrigin,
    },
}

impl AttemptNote {
    /// Returns the index of the episode in the job.
    #[must_use]
    pub fn episode(&self) -> u32 {
        match self {
            Self::Replaced(attempt) => attempt.episode,
            Self::Violated { episode, .. } | Self::Failed { episode, .. } => *episode,
        }
    }

    /// Returns the attempt that was replaced, if the note is about one.
    #[must_use]
    pub fn replaced(&self) -> Option<ReplacedAttempt> {
        match self {
            Self::Replaced(attempt) => Some(attempt.clone()),
            Self::Failed { episode, code, origin } => {
                let evidence = format!("worker {} alone reported that the episode failed: {code}", origin.worker);
                Some(ReplacedAttempt::new(*episode, ReplacementReason::Unconfirmed, &evidence))
            }
            Self::Violated { .. } => None,
        }
    }

    /// Returns the note as workers on other hosts receive it; they treat all violations alike.
    #[must_use]
    pub fn without_origin(&self) -> Self {
        match self {
            Self::Violated { episode, violation, .. } => {
                Self::Violated { episode: *episode, violation: violation.clone(), origin: None }
            }
            note => note.replaced().map_or_else(|| note.clone(), Self::Replaced),
        }
    }
}

impl EpisodeResult {
    /// Adds the facts left by earlier attempts at this episode: the list of replaced attempts, and every critical
    /// violation that is missing from this attempt; those that only an untrusted worker vouches for make the episode
    /// unconfirmed instead. `weights` and `scales` are those of the clauses, as for [`EpisodeResult::scored`].
    #[must_use]
    pub fn with_notes(mut self, notes: &[AttemptNote], weights: &[f64], scales: &[f64]) -> Self {
        let (episode, mut changed) = (self.episode, false);
        for note in notes.iter().filter(|note| note.episode() == episode) {
            match note {
                AttemptNote::Violated { violation, origin: None, .. } => changed |= self.uphold(violation),
                AttemptNote::Violated { violation, origin: Some(origin), .. } => self.doubt(violation, origin),
                note => self.replaced_attempts.extend(note.replaced()),
            }
        }
        if changed { self.scored(weights, scales) } else { self }
    }

    /// Adds a statement that only a worker on another host vouches for, unless there are [`MAX_UNCONFIRMED`] already.
    pub fn add_unconfirmed(&mut self, statement: String) {
        if self.unconfirmed.len() < MAX_UNCONFIRMED && !self.unconfirmed.contains(&statement) {
            self.unconfirmed.push(statement);
        }
    }

    /// Adds a violation of an earlier attempt that only `origin` vouches for, unless this result shows it.
    fn doubt(&mut self, violation: &Violation, origin: &NoteOrigin) {
        let mut clauses = self.clauses.iter().filter(|clause| clause.id == violation.clause);
        if clauses.any(|clause| clause.level == Level::Critical && clause.status != ClauseStatus::Violated) {
            self.add_unconfirmed(format!(
                "worker {} reported a violation of clause {} at {:.3} s of an earlier attempt, which no trace shows",
                origin.worker, violation.clause, violation.start_s
            ));
        }
    }

    /// Adds a violation of an earlier attempt to this result. Returns false if this result already violates the clause.
    fn uphold(&mut self, violation: &Violation) -> bool {
        let clause = self.clauses.iter_mut().find(|clause| clause.id == violation.clause);
        let is_open =
            |clause: &crate::ClauseResult| clause.level == Level::Critical && clause.status != ClauseStatus::Violated;
        let Some(clause) = clause.filter(|clause| is_open(clause)) else { return false };
        clause.status = ClauseStatus::Violated;
        clause.vacuous = false;
        clause.violation_count = 1;
        clause.robustness = violation.robustness;
        clause.worst_value = violation.value;
        clause.worst_time_s = violation.peak_s.or(Some(violation.start_s));
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

    fn violated(episode: u32, origin: Option<NoteOrigin>) -> AttemptNote {
        let violation = Violation {
            clause: "force".into(),
            level: Level::Critical,
            start_s: 0.5,
            end_s: 0.502,
            onset_value: Some(60.0),
            peak_s: Some(0.5),
            value: Some(60.0),
            limit: 50.0,
            unit: "N".into(),
            robustness: Some(-10.0),
            involved: Vec::new(),
        };
        AttemptNote::Violated { episode, violation, origin }
    }

    fn stranger() -> NoteOrigin {
        NoteOrigin { worker: "gpu-07".into(), claim: 3 }
    }

    fn concluded(result: EpisodeResult) -> crate::Conclusion {
        let plan = Plan {
            episodes: 1,
            target: None,
            confidence_level: 0.95,
            max_violation_probability: 0.1,
            draws_worlds: true,
        };
        conclude(&plan, PolicyIdentity::Measured, &[result]).expect("one episode")
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
        let result = clean().with_notes(&[violated(0, None), replaced(0)], &[1.0], &[50.0]);
        assert!(result.has_critical_violation() && result.violations.len() == 1);
        assert_eq!((result.safety_score, result.composite_score), (0.5, 0.25));
        assert_eq!(result.replaced_attempts.len(), 1);
        assert!(!result.replaced_attempts[0].evidence.contains('\u{1b}'));
        let conclusion = concluded(result);
        assert_eq!(conclusion.verdict, Verdict::Unsafe);
        assert_eq!(conclusion.replaced_attempts.len(), 1);
        assert!(conclusion.review_reasons.contains(&ReviewReason::EpisodeRepeated));
    }

    #[test]
    fn violations_of_this_attempt_are_not_counted_twice_and_other_episodes_are_unchanged() {
        let shown = episode(0, EpisodeStatus::Completed, clause(Level::Critical, ClauseStatus::Violated, -30.0));
        assert_eq!(
            shown.clone().with_notes(&[violated(0, None), violated(0, Some(stranger()))], &[1.0], &[50.0]),
            shown
        );
        assert_eq!(
            clean().with_notes(&[violated(2, None), violated(2, Some(stranger())), replaced(4)], &[1.0], &[50.0]),
            clean()
        );
    }

    #[test]
    fn a_violation_that_only_a_stranger_reported_is_neither_dropped_nor_believed() {
        let notes = [violated(0, Some(stranger())), violated(0, Some(stranger()))];
        let result = clean().with_notes(&notes, &[1.0], &[50.0]);
        assert!(!result.has_critical_violation() && !result.is_measured(), "{result:?}");
        assert_eq!((result.unconfirmed.len(), result.safety_score), (1, clean().safety_score));
        let conclusion = concluded(result);
        assert_eq!((conclusion.verdict, conclusion.blame), (Verdict::Inconclusive, None));
        assert!(conclusion.reason.as_ref().is_some_and(|why| why.contains("worker gpu-07 reported a violation")));
        assert!(conclusion.review_reasons.contains(&ReviewReason::Unconfirmed));
        // The same note of a trusted witness, and the one that a worker receives.
        let believed: Vec<_> = notes.iter().map(AttemptNote::without_origin).collect();
        assert!(clean().with_notes(&believed, &[1.0], &[50.0]).has_critical_violation());
    }

    #[test]
    fn a_failure_that_only_a_stranger_reported_is_a_replaced_attempt() {
        let note = AttemptNote::Failed { episode: 0, code: PolicyErrorCode::Exception, origin: stranger() };
        let result = clean().with_notes(&[note], &[1.0], &[50.0]);
        assert!(result.is_clean() && result.unconfirmed.is_empty());
        let [replaced] = result.replaced_attempts.as_slice() else { panic!("{:?}", result.replaced_attempts) };
        assert_eq!(replaced.reason, ReplacementReason::Unconfirmed);
        assert_eq!(replaced.evidence, "worker gpu-07 alone reported that the episode failed: exception");
    }

    #[test]
    fn a_failure_that_no_other_host_confirms_is_not_blamed_on_the_policy() {
        let failed =
            || episode(0, EpisodeStatus::PolicyError, clause(Level::Critical, ClauseStatus::Undetermined, 1.0));
        assert_eq!(concluded(failed()).blame, Some(crate::Blame::Policy));
        let mut alone = failed();
        alone.add_unconfirmed("worker gpu-07 alone reported that the episode failed".into());
        assert_eq!((concluded(alone.clone()).verdict, concluded(alone).blame), (Verdict::Inconclusive, None));
    }
}
