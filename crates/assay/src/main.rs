//! `assay`: puts robot-control policies to the proof.

mod cli;
mod commands;
mod exit;
mod interrupt;
mod judge;
mod output;
mod preflights;
mod progress;
mod replayer;
mod service;
mod source;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    logging(arguments.verbose);
    match commands::run(arguments.command) {
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
