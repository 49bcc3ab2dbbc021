//! Dispatch of the parsed arguments to the commands.

use clap::{ArgMatches, CommandFactory};

use super::{
    attest, backup, check, completions, connect, dataset, demo, doctor, fetch, init, keys, migrate, model, render,
    replay, report, restore, runtime, scenario, season, serve, stl, verify, worker, workers,
};
use crate::cli::{Cli, Command};
use crate::exit::{ExitStatus, Failure};

/// Runs `command`, which was parsed from `matches`.
pub(crate) fn run(command: Command, matches: &ArgMatches) -> Result<ExitStatus, Failure> {
    match command {
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Connect(arguments) => connect::run(&arguments),
        Command::Fetch(arguments) => fetch::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Dataset(arguments) => dataset::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Scenario(command) => scenario::run(&command),
        Command::Runtime(command) => runtime::run(&command),
        Command::Model(command) => model::run(&command),
        Command::Stl(arguments) => stl::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments, own(matches)),
        Command::Worker(arguments) => worker::run(&arguments, matches.get_count("verbose")),
        Command::Workers(command) => workers::run(&command),
        Command::Backup(arguments) => backup::run(&arguments),
        Command::Restore(arguments) => restore::run(&arguments),
        Command::Migrate(arguments) => migrate::run(&arguments, own(matches)),
        Command::Keys(command) => keys::run(&command),
        Command::Season(command) => season::run(&command),
        Command::Report(arguments) => report::run(&arguments),
        Command::Attest(command) => attest::run(&command),
        Command::Completions(arguments) => completions::run(&arguments, &mut Cli::command()),
    }
}

/// Returns the matches of the command's own arguments.
fn own(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, matches)| matches)
}
