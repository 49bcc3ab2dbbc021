//! The option for the verdicts that make a command fail.

use assay_model::Verdict;
use clap::{Args, ValueEnum};

use crate::exit::ExitStatus;

/// A verdict that makes a command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailingVerdict {
    /// A critical clause was violated
    Unsafe,
    /// Something could not be measured, or there were too few episodes
    Inconclusive,
    /// None: the exit code is 0 with every verdict
    Never,
}

/// The verdicts that make a command fail.
#[derive(Debug, Args)]
pub(crate) struct FailOnArgs {
    /// Verdicts with an exit code other than 0, separated by commas
    #[arg(long, value_name = "VERDICTS", value_enum, value_delimiter = ',', hide_possible_values = true,
          default_values_t = [FailingVerdict::Unsafe, FailingVerdict::Inconclusive])]
    fail_on: Vec<FailingVerdict>,
}

impl FailOnArgs {
    /// Returns the exit status for a verdict.
    pub(crate) fn status(&self, verdict: Verdict) -> ExitStatus {
        let fails = match verdict {
            Verdict::Safe => false,
            Verdict::Unsafe => self.fail_on.contains(&FailingVerdict::Unsafe),
            Verdict::Inconclusive => self.fail_on.contains(&FailingVerdict::Inconclusive),
        };
        if fails { ExitStatus::from(verdict) } else { ExitStatus::Success }
    }
}
