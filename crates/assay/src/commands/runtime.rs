//! `assay runtime list|show|check|add|remove`: the interpreters and packages that policies run in.

mod add;
mod check;
mod place;
mod remove;
mod show;

use assay_policy::{InstalledRuntime, RuntimeLibrary};
use clap::Subcommand;
use serde_json::json;

use self::place::PlaceArgs;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::StoreArgs;
use crate::screen;

#[derive(Debug, Subcommand)]
pub(crate) enum RuntimeCommand {
    /// List the installed runtimes
    List {
        #[command(flatten)]
        place: PlaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a runtime: its Python, its packages, its settings
    Show {
        /// The runtime's name, or NAME@SHA256 with the first digits of an earlier version
        runtime: String,
        #[command(flatten)]
        place: PlaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Import every package of a runtime in the jail, and list those that fail
    #[command(
        after_help = "Exit codes: 0 everything can be imported, 1 something cannot, 2 wrong usage, 4 internal error."
    )]
    Check {
        /// The runtime's name, or NAME@SHA256 with the first digits of an earlier version
        runtime: String,
        #[command(flatten)]
        place: PlaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a runtime from a virtual environment, a conda prefix, or a list of requirements
    ///
    /// Copies the interpreter, its standard library, the packages and the shared libraries that they need. An earlier
    /// version of the same name is kept beside it, for the reports and seasons that began with it.
    #[command(after_help = "Examples:
  assay runtime add onnx
  assay runtime add torch --from-venv ~/venvs/policy
  assay runtime add mine --from-venv ~/miniforge3/envs/robot
  assay runtime add litert --requirements requirements.txt
  assay runtime add torch --from-venv ~/venvs/policy --data /var/lib/assay")]
    Add(add::AddArgs),
    /// Remove a runtime, unless a season or an unfinished job of the service needs it
    Remove {
        /// The runtime's name, or NAME@SHA256 with the first digits of an earlier version
        runtime: String,
        #[command(flatten)]
        place: PlaceArgs,
        #[command(flatten)]
        store: StoreArgs,
    },
}

pub(crate) fn run(command: &RuntimeCommand) -> Result<ExitStatus, Failure> {
    match command {
        RuntimeCommand::List { place, json } => list(&place.installation()?.runtimes(), *json),
        RuntimeCommand::Show { runtime, place, json } => show::show(&place.installation()?.runtimes(), runtime, *json),
        RuntimeCommand::Check { runtime, place, json } => {
            check::check(&place.installation()?.runtimes(), runtime, *json)
        }
        RuntimeCommand::Add(arguments) => add::add(arguments),
        RuntimeCommand::Remove { runtime, place, store } => remove::remove(place, store, runtime),
    }
}

fn list(library: &RuntimeLibrary, json: bool) -> Result<ExitStatus, Failure> {
    let runtimes = library.list();
    if json {
        let cards: Vec<_> = runtimes.iter().map(|runtime| runtime.manifest.card(runtime.current)).collect();
        super::stdout::print(&serde_json::to_string_pretty(&json!({ "runtimes": cards })).or_internal()?);
        return Ok(ExitStatus::Success);
    }
    if runtimes.is_empty() {
        super::stdout::print("no runtimes; run `make setup`");
        return Ok(ExitStatus::Success);
    }
    let row = |runtime: &InstalledRuntime| {
        let manifest = &runtime.manifest;
        let packages = match manifest.packages.len() {
            0 => "none".to_owned(),
            1..=6 => manifest.packages.keys().cloned().collect::<Vec<_>>().join(", "),
            count => format!("{}, {} more", manifest.imports.join(", "), count - manifest.imports.len()),
        };
        vec![
            manifest.name.to_string(),
            if runtime.current { "current" } else { "earlier" }.to_owned(),
            format!("{:.12}", manifest.sha256),
            manifest.python.clone(),
            format!("{} MB", manifest.size_bytes / 1_000_000),
            packages,
        ]
    };
    let rows: Vec<_> = runtimes.iter().map(row).collect();
    let columns = ["name", "version", "sha256", "python", "size", "packages"];
    super::stdout::print(&screen::layout().table(&columns, &rows, 0));
    Ok(ExitStatus::Success)
}
