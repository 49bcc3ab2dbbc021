//! One file a command: its arguments, and what it does.

mod attest;
mod backup;
mod check;
mod completions;
mod doctor;
mod draw;
mod init;
mod keys;
mod render;
mod replay;
mod report;
mod restore;
mod scenario;
mod season;
mod serve;
pub(crate) mod stl;
mod verify;

pub(crate) use self::attest::AttestCommand;
pub(crate) use self::backup::BackupArgs;
pub(crate) use self::check::CheckArgs;
pub(crate) use self::completions::CompletionsArgs;
pub(crate) use self::doctor::DoctorArgs;
pub(crate) use self::init::InitArgs;
pub(crate) use self::keys::KeysCommand;
pub(crate) use self::render::RenderArgs;
pub(crate) use self::replay::ReplayArgs;
pub(crate) use self::report::ReportArgs;
pub(crate) use self::restore::RestoreArgs;
pub(crate) use self::scenario::ScenarioCommand;
pub(crate) use self::season::SeasonCommand;
pub(crate) use self::serve::ServeArgs;
pub(crate) use self::stl::StlArgs;
pub(crate) use self::verify::VerifyArgs;

use std::path::PathBuf;

use assay_model::Isolation;
use assay_worker::{Engine, EngineOptions, Installation};
use clap::ArgMatches;

use crate::cli::Command;
use crate::exit::{Code, Failure, OrFail};

/// Runs `command`, which was made from `matches`.
pub(crate) fn run(command: Command, matches: &ArgMatches) -> Result<Code, Failure> {
    match command {
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Scenario(command) => scenario::run(&command),
        Command::Stl(arguments) => stl::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Serve(arguments) => {
            serve::run(&arguments, matches.subcommand().map_or(matches, |(_, matches)| matches))
        }
        Command::Backup(arguments) => backup::run(&arguments),
        Command::Restore(arguments) => restore::run(&arguments),
        Command::Keys(command) => keys::run(&command),
        Command::Season(command) => season::run(&command),
        Command::Report(arguments) => report::run(&arguments),
        Command::Attest(command) => attest::run(&command),
        Command::Completions(arguments) => completions::run(&arguments),
    }
}

/// The installation that this program belongs to (`ASSAY_HOME`, or found).
fn installation() -> Result<Installation, Failure> {
    Installation::find(std::env::var_os("ASSAY_HOME").map(PathBuf::from)).usage()
}

/// The engine with `lanes` lanes, one per processor where not given, that runs policies in no tier weaker than
/// `accepted`.
fn engine(installation: &Installation, lanes: Option<u16>, accepted: Isolation) -> Result<Engine, Failure> {
    let lanes = lanes.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    Engine::start(installation, EngineOptions { lanes, accepted }).ours()
}

/// A unit to put behind a number; a ratio (unit 1) has none.
fn unit(unit: &str) -> String {
    if unit == "1" { String::new() } else { format!(" {unit}") }
}

/// Writes to standard output; a reader that went away (`| head`) is no error.
fn print(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
}
