//! `assay completions`.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::{Code, Failure};

#[derive(Debug, Args)]
#[command(after_help = "Example: assay completions bash > ~/.local/share/bash-completion/completions/assay")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the completions of `command`, the whole program.
pub(crate) fn run(arguments: &CompletionsArgs, command: &mut Command) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "assay", &mut script);
    super::stdout::print(&String::from_utf8_lossy(&script));
    Ok(Code::Success)
}
