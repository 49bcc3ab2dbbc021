//! Reviewers' decisions, which accompany the verdict and never change a measurement.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Maximum length of a review's reason, in characters.
pub const MAX_REVIEW_REASON_CHARS: usize = 4096;

/// Decision of a reviewer about a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// The result may be relied on.
    Accepted,
    /// The result must not be relied on, regardless of the verdict.
    Rejected,
    /// The result needs further evidence first: more episodes, another seed, or an inspection of the scenario.
    NeedsEvidence,
}

impl ReviewDecision {
    /// Returns the value used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::NeedsEvidence => "needs_evidence",
        }
    }
}

/// Review of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Review {
    /// Decision of the reviewer.
    pub decision: ReviewDecision,
    /// Reason for the decision, in the reviewer's words.
    pub reason: String,
    /// Account whose key was used for the review.
    pub reviewer: String,
    /// Time of the review.
    pub at: Timestamp,
}
