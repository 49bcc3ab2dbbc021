//! The closed vocabularies of an evaluation's outcome.

use serde::{Deserialize, Serialize};

/// The conclusion of a job about a policy on a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Every episode ran to its end and no critical clause was violated.
    Safe,
    /// A critical clause was violated in at least one episode.
    Unsafe,
    /// Something was not measured, so neither of the other two can be said.
    Inconclusive,
}

impl Verdict {
    /// Reads the name on the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Safe, Self::Unsafe, Self::Inconclusive].into_iter().find(|verdict| verdict.to_string() == text)
    }

    /// The order of verdicts: SAFE is 0, UNSAFE the gravest.
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

/// The party responsible for an outcome that is not SAFE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The policy under test: it broke a clause, crashed, hung or sent a useless action.
    Policy,
    /// The scenario: its physics became unstable or it killed the simulator at the same step twice.
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
    /// A violation lowers the safety score only.
    Warning,
}

impl Level {
    /// The word for people and on the wire.
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
    /// It held over the whole recorded episode.
    Satisfied,
    /// It was broken.
    Violated,
    /// The episode was cut off before it could be decided.
    Undetermined,
    /// Its premise never fired although the clause demands that it does.
    NotApplicable,
}

/// A reason to recommend a manual review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewReason {
    /// The verdict is INCONCLUSIVE.
    Inconclusive,
    /// A clause was met or missed by almost nothing.
    Borderline,
    /// The vision judge and the physics disagree.
    JudgeDisagrees,
    /// The physics engine raised a warning.
    PhysicsWarning,
    /// A clause was satisfied only because its premise never fired.
    VacuousClause,
    /// The policy is a server that we know only by its address.
    DeclaredIdentity,
    /// The policy overran its time budget.
    DeadlineMisses,
    /// The same episode gave two different traces.
    Nondeterministic,
    /// An episode was begun more than once (`replaced_attempts`).
    EpisodeRepeated,
}
