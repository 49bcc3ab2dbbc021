//! Options for the isolation that a command accepts.

use assay_model::Isolation;
use clap::{Args, ValueEnum};

use crate::settings::{WeakerIsolation, accepted_isolation};

/// The isolation that is accepted if user namespaces do not work.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for machines without user namespaces")]
pub(crate) struct IsolationArgs {
    /// Run policies with Landlock if namespaces don't work; `assay doctor --jail --isolation landlock` lists the
    /// attacks that it does not stop
    #[arg(long, value_name = "TIER", env = "ASSAY_ACCEPT_WEAKER_ISOLATION")]
    accept_weaker_isolation: Option<WeakerIsolation>,
    /// Run policies even if neither namespaces nor Landlock work: they can read whatever this user can. Only for your
    /// own policies
    #[arg(long, env = "ASSAY_RUN_UNTRUSTED_CODE_WITHOUT_ISOLATION")]
    run_untrusted_code_without_isolation: bool,
}

impl IsolationArgs {
    /// Returns the words of a command with the same options.
    pub(crate) fn words(&self) -> Vec<String> {
        let weaker = self.accept_weaker_isolation.and_then(|tier| tier.to_possible_value());
        let named = weaker.map(|tier| vec!["--accept-weaker-isolation".to_owned(), tier.get_name().to_owned()]);
        let without = self.run_untrusted_code_without_isolation;
        named
            .into_iter()
            .flatten()
            .chain(without.then(|| "--run-untrusted-code-without-isolation".to_owned()))
            .collect()
    }

    /// Returns the weakest tier in which policies may run.
    pub(crate) fn accepted(&self) -> Isolation {
        accepted_isolation(self.accept_weaker_isolation, self.run_untrusted_code_without_isolation)
    }
}
