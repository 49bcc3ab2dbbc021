//! `assay completions`: prints a completion script for a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::{ExitStatus, Failure};

#[derive(Debug, Args)]
#[command(after_help = "Example: assay completions bash > ~/.local/share/bash-completion/completions/assay")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the completion script for `command`, the root command of the program.
pub(crate) fn run(arguments: &CompletionsArgs, command: &mut Command) -> Result<ExitStatus, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "assay", &mut script);
    super::stdout::print(&String::from_utf8_lossy(&script));
    Ok(ExitStatus::Success)
}
