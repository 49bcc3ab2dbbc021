//! Job kinds, and the arena's part of a job.

use serde::{Deserialize, Serialize};

/// Kind of a job.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// A verification.
    #[default]
    Verify,
    /// A submission to a season.
    Submission,
    /// A repetition of a submission on fresh seeds, when its season closes.
    Rerun,
}

impl JobKind {
    /// Returns the name stored in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Submission => "submission",
            Self::Rerun => "rerun",
        }
    }
}

/// The arena's part of a job's header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaEntry {
    /// Number of the season, from 1.
    pub season: u32,
    /// True if this is the run on fresh seeds at the end of the season.
    #[serde(default)]
    pub rerun: bool,
    /// Score of a perfect submission.
    pub max_score: u32,
    /// The author's description of the submission.
    #[serde(default)]
    pub description: Option<String>,
}

/// Number of extra episodes of a submission, on public seeds: they are shown but do not count.
pub const SHOWCASE_EPISODES: u32 = 1;
