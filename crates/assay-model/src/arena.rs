//! Submissions to the arena: the kinds of jobs and the arena's part of a job.

use serde::{Deserialize, Serialize};

/// The kind of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// A verification.
    #[default]
    Verify,
    /// A submission to a season.
    Submission,
    /// A submission run again on fresh seeds, when its season closes.
    Rerun,
}

impl JobKind {
    /// The name in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Submission => "submission",
            Self::Rerun => "rerun",
        }
    }
}

/// A submission's place in the arena: part of a job's header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaEntry {
    /// Number of the season, from 1.
    pub season: u32,
    /// It is the run on fresh seeds at the season's end.
    #[serde(default)]
    pub rerun: bool,
    /// Score of a perfect submission.
    pub max_score: u32,
    /// The author's words about it.
    #[serde(default)]
    pub description: Option<String>,
}

/// Extra episodes of a submission, on public seeds: they are shown and do not count.
pub const SHOWCASE_EPISODES: u32 = 1;
