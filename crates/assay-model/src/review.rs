//! Decisions of reviewers. They stand beside the verdict and change no measurement.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest reason, in bytes.
pub const MAX_REVIEW_REASON_CHARS: usize = 4096;

/// A reviewer's decision about a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// The result may be relied on as it stands.
    Accepted,
    /// It may not, whatever the verdict says.
    Rejected,
    /// More episodes, another seed or a look at the scenario first.
    NeedsEvidence,
}

impl ReviewDecision {
    /// As it stands in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::NeedsEvidence => "needs_evidence",
        }
    }
}

/// A review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Review {
    /// The decision.
    pub decision: ReviewDecision,
    /// Why, in the reviewer's words.
    pub reason: String,
    /// The account whose key it was.
    pub reviewer: String,
    /// When.
    pub at: Timestamp,
}
