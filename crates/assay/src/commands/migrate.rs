//! `assay migrate`: migrates a data folder to PostgreSQL and S3.

use std::path::PathBuf;

use assay_store::ScenarioFiles;
use clap::{ArgMatches, Args};
use serde_json::{Value, json};

use super::backup::{line, problem_lines};
use crate::backup::SCENARIOS;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::migration::{Migrated, MigratedReplay, migrate};
use crate::printing::complain;
use crate::settings::{Effective, SettingSources};

#[derive(Debug, Args)]
#[command(
    after_help = "The server of the old data folder must be stopped; nothing in the folder changes. --data, --store and \
--blobs are settings of the new server, which can also come from its settings file and its variables. The new data folder \
gets what stays in a folder: signing keys, secrets, scenarios, models, runtimes. It is called DIR.partial until everything \
is done. A migration that ended early goes on if the same command is repeated.

Everything is read back: the rows of every table, and evidence and archives by their SHA-256. Then an episode is replayed.

Exit codes: 0 done, 1 done, but files are missing or damaged or the replay differs, 2 wrong usage or input, 4 internal \
error, 130 interrupted.

Examples:
  assay migrate --from ./data --data ./site --store postgres://assay@db/assay
  assay migrate --from /var/lib/assay --data /srv/assay --store postgres://assay@db/assay --blobs s3://evidence/assay
  assay migrate --from /var/lib/assay --config /etc/assay.toml"
)]
pub(crate) struct MigrateArgs {
    /// The data folder to migrate
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Settings file of the new server [default: assay.toml in the current folder, if it exists]
    #[arg(long, value_name = "FILE", env = "ASSAY_CONFIG")]
    config: Option<PathBuf>,
    /// Set any setting of the new server by its path: blobs.addressing=path
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    // The following flags are read through `SettingSources`; each has the name of its setting.
    /// The data folder to create: new, or empty
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// PostgreSQL database for the records, empty, as postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Bucket for evidence and policy archives, as s3://BUCKET/PREFIX [default: the new data folder]
    #[arg(long, value_name = "URL")]
    blobs: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &MigrateArgs, matches: &ArgMatches) -> Result<ExitStatus, Failure> {
    let sources = SettingSources::gather(arguments.config.as_deref(), &arguments.set, matches).or_usage()?;
    let settings = Effective::load(&sources).or_usage()?.settings;
    let cancel = cancel_on_signal().or_internal()?;
    let engine = |data: &std::path::Path| {
        let accepted = settings.server.accepted_isolation();
        let engine = super::machine::engine(&super::machine::installation_of(data)?, Some(1), accepted)?;
        Ok(engine.with_versions(ScenarioFiles::folder(&data.join(SCENARIOS)).or_internal()?))
    };
    let migrated = match migrate(&arguments.from, &settings, &cancel, engine) {
        Err(Failure::Interrupted) => {
            complain!("assay: interrupted; repeat the command to continue");
            return Ok(ExitStatus::Interrupted);
        }
        migrated => migrated?,
    };
    let data = settings.server.data().or_usage()?.display().to_string();
    super::stdout::print(&match arguments.json {
        true => serde_json::to_string_pretty(&about(arguments, &data, &migrated)).or_internal()?,
        false => text(arguments, &data, &migrated),
    });
    Ok(if migrated.problems.is_empty() { ExitStatus::Success } else { ExitStatus::Unsafe })
}

fn about(arguments: &MigrateArgs, data: &str, migrated: &Migrated) -> Value {
    let tables = migrated
        .tables
        .iter()
        .map(|table| (table.name.to_owned(), json!({ "rows": table.rows, "sha256": table.sha256 })));
    json!({
        "from": arguments.from, "data": data, "store": migrated.store, "blobs": migrated.blobs,
        "tables": tables.collect::<serde_json::Map<_, _>>(), "files": migrated.files, "problems": migrated.problems,
        "replay": match &migrated.replay {
            MigratedReplay::Done(replayed) => replayed.json(),
            MigratedReplay::None(_) => Value::Null,
        },
    })
}

fn text(arguments: &MigrateArgs, data: &str, migrated: &Migrated) -> String {
    let Migrated { store, blobs, tables, files, problems, replay } = migrated;
    let rows: u64 = tables.iter().map(|table| table.rows).sum();
    let place = blobs.as_deref().unwrap_or(data);
    let replay = match replay {
        MigratedReplay::Done(replayed) => replayed.summary(),
        MigratedReplay::None(why) => format!("none: {why}"),
    };
    let mut text = line("migrated", &format!("{} to {data}", arguments.from.display()));
    text.push_str(&line("records", &format!("{rows} rows of {} tables, equal in {store}", tables.len())));
    text.push_str(&line("files", &format!("{files} of evidence and archives, checked in {place}")));
    text.push_str(&line("replay", &replay));
    text.push_str(&problem_lines(problems));
    text.push_str(&line("next", "start assay serve with the same settings"));
    text
}
