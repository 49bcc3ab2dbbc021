//! The command line of assay, its settings, and the composition of the service: `main.rs` calls [`run`].

mod backup;
mod checkpoint_folder;
mod cli;
mod commands;
mod exit;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod interrupt;
mod kept_policy;
mod log;
mod memory;
mod migration;
mod options;
mod output;
mod printing;
mod program_name;
mod progress;
mod results_folder;
mod screen;
mod secret;
mod service;
mod service_client;
mod settings;
mod source;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::settings::{LogFormat, LogLevel};

/// Runs the program with the command-line arguments of this process.
#[must_use]
pub fn run() -> ExitCode {
    memory::share_arenas();
    let matches = cli::Cli::command().get_matches();
    let arguments = cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // These start their log themselves: their settings determine level and format.
    if !matches!(arguments.command, cli::Command::Serve(_) | cli::Command::Worker(_)) {
        log::start(arguments.verbose, LogLevel::default(), LogFormat::default());
    }
    match commands::run(arguments.command, &matches) {
        Ok(code) => code.into(),
        Err(failure) => {
            printing::print_failure(&failure.to_string());
            failure.exit_status().into()
        }
    }
}
