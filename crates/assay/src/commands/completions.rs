//! `assay completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::{Code, Failure};

pub(crate) fn run(shell: Shell) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "assay", &mut script);
    super::print(&String::from_utf8_lossy(&script));
    Ok(Code::Success)
}
