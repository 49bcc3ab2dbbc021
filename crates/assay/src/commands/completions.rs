//! `assay completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::{Code, Failure};

#[derive(Debug, Args)]
#[command(after_help = "Example: assay completions bash > ~/.local/share/bash-completion/completions/assay")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArgs) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "assay", &mut script);
    super::print(&String::from_utf8_lossy(&script));
    Ok(Code::Success)
}
