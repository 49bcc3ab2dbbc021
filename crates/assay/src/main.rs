//! `assay`: puts robot-control policies to the proof.

mod cli;
mod commands;
mod exit;
mod interrupt;
mod judge;
mod output;
mod preflights;
mod progress;
mod publisher;
mod replayer;
mod service;
mod settings;
mod source;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

fn main() -> ExitCode {
    let matches = cli::Cli::command().get_matches();
    let arguments = cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    logging(arguments.verbose);
    match commands::run(arguments.command, &matches) {
        Ok(code) => code.into(),
        Err(failure) => {
            eprintln!("{failure}");
            failure.code().into()
        }
    }
}

/// Warnings on stderr; `-v` tells more, `ASSAY_LOG` decides in detail.
fn logging(verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("ASSAY_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
}
