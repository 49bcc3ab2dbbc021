//! The versions of the rules that make verdicts and scores of episodes.

/// The rules of a report, which its `scorer_version` names. A report is checked by the rules under which it was signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scorer {
    /// A job without any completed episode could have a consistency of 1, and a SAFE verdict never had a reason.
    First,
    /// The rules of today.
    #[default]
    Second,
}

impl Scorer {
    /// As in a report's fingerprint.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::First => "1",
            Self::Second => "2",
        }
    }

    /// The rules of that version; `None` where this program does not know them.
    #[must_use]
    pub fn of_version(version: &str) -> Option<Self> {
        [Self::First, Self::Second].into_iter().find(|scorer| scorer.version() == version)
    }
}
