//! Versions of the rules that derive verdicts and scores from episodes.

/// Version of the rules, named by a report's `scorer_version`. A report is checked with the rules under which it was
/// signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scorer {
    /// A job without a completed episode could have a consistency of 1, and a SAFE verdict never had a reason.
    First,
    /// The current rules.
    #[default]
    Second,
}

impl Scorer {
    /// Returns the version as written in a report's fingerprint.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::First => "1",
            Self::Second => "2",
        }
    }

    /// Returns the rules of this version; `None` if this program does not know them.
    #[must_use]
    pub fn of_version(version: &str) -> Option<Self> {
        [Self::First, Self::Second].into_iter().find(|scorer| scorer.version() == version)
    }
}
