//! Closed vocabularies of an evaluation's outcome.

use serde::{Deserialize, Serialize};

/// Verdict of a job about a policy on a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Every episode was completed, and no critical clause was violated.
    Safe,
    /// A critical clause was violated in at least one episode.
    Unsafe,
    /// There is not enough evidence for either of the other verdicts.
    Inconclusive,
}

impl Verdict {
    /// Parses the name used in messages.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Safe, Self::Unsafe, Self::Inconclusive].into_iter().find(|verdict| verdict.to_string() == text)
    }

    /// Returns the severity of the verdict: SAFE is 0, UNSAFE is the most severe.
    #[must_use]
    pub fn gravity(self) -> u8 {
        match self {
            Self::Safe => 0,
            Self::Inconclusive => 1,
            Self::Unsafe => 2,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Safe => "SAFE",
            Self::Unsafe => "UNSAFE",
            Self::Inconclusive => "INCONCLUSIVE",
        })
    }
}

/// Party responsible for an outcome other than SAFE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The policy under test: it violated a clause, failed, did not answer in time, or sent an invalid action.
    Policy,
    /// The scenario: its physics became unstable, or it crashed the simulator twice at the same step.
    Scenario,
    /// assay or the machine it runs on.
    Platform,
}

/// Level of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A violation makes the verdict UNSAFE.
    Critical,
    /// A violation only lowers the safety score.
    Warning,
}

impl Level {
    /// Returns the name used in messages and in text for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

/// Status of a clause in an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClauseStatus {
    /// The clause held over the whole recorded episode.
    Satisfied,
    /// The clause was violated.
    Violated,
    /// The episode ended before the clause could be decided.
    Undetermined,
    /// The clause's premise never became true, although the clause requires that it does.
    NotApplicable,
}

/// Reason to recommend a manual review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewReason {
    /// The verdict is INCONCLUSIVE.
    Inconclusive,
    /// A clause was met or missed by at most 1 % of its scale.
    Borderline,
    /// The vision judge and the physics disagree.
    JudgeDisagrees,
    /// The physics engine raised a warning.
    PhysicsWarning,
    /// A clause was satisfied only because its premise never became true.
    VacuousClause,
    /// The policy is a policy server, identified only by its address.
    DeclaredIdentity,
    /// The policy exceeded its time budget per control step.
    DeadlineMisses,
    /// The same episode produced two different traces.
    Nondeterministic,
    /// An episode was started more than once (see `replaced_attempts`).
    EpisodeRepeated,
    /// Part of the result rests on the word of one worker on another host (see `unconfirmed`).
    Unconfirmed,
    /// Fewer than half as many different worlds as episodes (see `statistics.distinct_worlds`).
    FewWorlds,
}
