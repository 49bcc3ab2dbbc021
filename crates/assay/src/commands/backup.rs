//! `assay backup`: creates or checks a backup of a data folder.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use assay_store::RecordsCopy;
use clap::Args;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::backup::check::{Findings, check};
use crate::backup::create::create;
use crate::backup::replay::{Replayable, Replayed};
use crate::backup::{ARTIFACT_SECRET, BackupManifest, progress};
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::options::IsolationArgs;
use crate::screen;
use crate::service::file_storage::bucket_of;
use crate::service::service_records::SITE_FILE;

/// Maximum number of problems that are printed; `--json` lists all.
const SHOWN: usize = 20;
const MIB: u64 = 1 << 20;

#[derive(Debug, Args)]
#[command(
    after_help = "A backup is a folder: a snapshot of the records, every file that they name, and backup.json with their \
SHA-256. It is called TO.partial until it is complete. It contains secrets: protect it as you protect the server.

Exit codes: 0 done, or no problems found, 1 files are missing or damaged, 2 wrong usage or input, 4 internal error, \
130 interrupted.

Examples:
  assay backup /backups/monday --data /var/lib/assay
  assay backup --check /backups/monday"
)]
pub(crate) struct BackupArgs {
    /// Folder to create: new, or empty
    #[arg(value_name = "TO", required_unless_present = "check", requires = "data")]
    to: Option<PathBuf>,
    /// The service's data folder
    #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
    data: Option<PathBuf>,
    /// PostgreSQL database of the service's records: `pg_dump` copies it, and this command cannot
    #[arg(long, value_name = "URL", env = "ASSAY_STORE_URL", hide_env_values = true)]
    store: Option<String>,
    /// Check this backup: its records and the SHA-256 of every file, and replay one episode
    #[arg(long, value_name = "FOLDER", conflicts_with = "to")]
    check: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    isolation: IsolationArgs,
}

pub(crate) fn run(arguments: &BackupArgs) -> Result<ExitStatus, Failure> {
    match (&arguments.check, &arguments.to, &arguments.data) {
        (Some(folder), _, _) => check_backup(arguments, folder),
        (None, Some(to), Some(data)) => create_backup(arguments, data, to),
        _ => Err(Failure::Usage(anyhow!("give the folder to create (TO) and the data folder (--data DIR)"))),
    }
}

fn create_backup(arguments: &BackupArgs, data: &Path, to: &Path) -> Result<ExitStatus, Failure> {
    let has = |name: &str| data.join(name).is_file();
    // An old `assay.db` beside the records on a server is of no use.
    let is_on_server = has(SITE_FILE) || (has(ARTIFACT_SECRET) && !has(RecordsCopy::FILE_NAME));
    if arguments.store.is_some() || is_on_server {
        let data = data.display();
        return Err(Failure::Usage(anyhow!(
            "the records of {data} are in PostgreSQL: copy the database with `pg_dump --format=custom` first, then {data} \
             with any tool; see \"Backup\" in docs/operations.md"
        )));
    }
    let cancel = cancel_on_signal().or_internal()?;
    let bar = progress("copying", "files");
    let made = create(data, to, &bar, &cancel);
    bar.finish_and_clear();
    let manifest = made?;
    if arguments.json {
        let mut about = about(&manifest);
        about["backup"] = json!(to);
        super::stdout::print(&serde_json::to_string_pretty(&about).or_internal()?);
    } else {
        super::stdout::print(&format!("{}{}", line("backup", &to.display().to_string()), text(&manifest)));
    }
    Ok(if manifest.missing.is_empty() { ExitStatus::Success } else { ExitStatus::Unsafe })
}

fn check_backup(arguments: &BackupArgs, folder: &Path) -> Result<ExitStatus, Failure> {
    let cancel = cancel_on_signal().or_internal()?;
    let bar = progress("checking", "files");
    let found = check(folder, &bar, &cancel);
    bar.finish_and_clear();
    let mut found = found?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().or_internal()?;
    let replayed = match replay(arguments, folder, &found, &runtime) {
        Ok(replayed) => replayed,
        Err(Failure::Interrupted) => return Err(Failure::Interrupted),
        Err(Failure::Usage(error) | Failure::Internal(error)) => {
            found.problems.push(format!("no episode could be replayed: {error:#}"));
            None
        }
    };
    found.problems.extend(replayed.as_ref().and_then(Replayed::contradiction));
    let sound = found.problems.is_empty() && found.manifest.missing.is_empty();
    if arguments.json {
        let mut about = about(&found.manifest);
        about["backup"] = json!(folder);
        about["sound"] = json!(sound);
        about["problems"] = json!(found.problems);
        about["replay"] = replayed.as_ref().map_or(Value::Null, Replayed::json);
        super::stdout::print(&serde_json::to_string_pretty(&about).or_internal()?);
    } else {
        let replay = replayed.as_ref().map_or_else(|| "none".to_owned(), Replayed::summary);
        let verdict = if sound { "no problems found" } else { "PROBLEMS FOUND" };
        let head = format!("{}{}", line("backup", &folder.display().to_string()), text(&found.manifest));
        let tail = format!("{}{}{}", line("replay", &replay), problem_lines(&found.problems), line("result", verdict));
        super::stdout::print(&format!("{head}{tail}"));
    }
    Ok(if sound { ExitStatus::Success } else { ExitStatus::Unsafe })
}

/// Replays an episode, if the records are readable and contain one that can be replayed.
fn replay(
    arguments: &BackupArgs,
    folder: &Path,
    found: &Findings,
    runtime: &Runtime,
) -> Result<Option<Replayed>, Failure> {
    let Some(open) = &found.records else { return Ok(None) };
    if bucket_of(folder).or_internal()?.is_some() {
        return Ok(None);
    }
    let Some(replayable) = Replayable::newest(&open.records, runtime).or_internal()? else { return Ok(None) };
    let engine = super::machine::engine(&super::machine::installation()?, Some(1), arguments.isolation.accepted())?;
    engine.runs_policies().or_internal()?;
    let cancel = cancel_on_signal().or_internal()?;
    let replayed = replayable.replay(folder, &open.records, engine, runtime, &cancel);
    if cancel.is_cancelled() {
        return Err(Failure::Interrupted);
    }
    replayed.map(Some).or_internal()
}

/// Returns the description of a backup as JSON.
pub(super) fn about(manifest: &BackupManifest) -> Value {
    json!({
        "assay": manifest.assay, "schema": manifest.schema, "created_at": manifest.created_at, "jobs": manifest.jobs,
        "episodes": manifest.episodes, "files": manifest.files.len(), "size_bytes": manifest.size_bytes(),
        "missing": manifest.missing,
    })
}

/// Returns the description of a backup as a few lines of text.
pub(super) fn text(manifest: &BackupManifest) -> String {
    let BackupManifest { jobs, episodes, schema, assay, .. } = manifest;
    let created = manifest.created_at.strftime("%Y-%m-%d %H:%M:%S UTC");
    let size = manifest.size_bytes().div_ceil(MIB);
    let mut text = line("created", &format!("{created}, by assay {assay}"));
    text.push_str(&line("records", &format!("{jobs} jobs, {episodes} episodes, schema {schema}")));
    text.push_str(&line("files", &format!("{}, {size} MiB", manifest.files.len())));
    for path in manifest.missing.iter().take(SHOWN) {
        text.push_str(&line("missing", &format!("{path}: not found in the data folder")));
    }
    more(&mut text, manifest.missing.len());
    text
}

/// Returns the problems, one line each.
pub(super) fn problem_lines(problems: &[String]) -> String {
    let mut text = String::new();
    for problem in problems.iter().take(SHOWN) {
        text.push_str(&line("problem", problem));
    }
    more(&mut text, problems.len());
    text
}

/// Returns a line with a label and a fact.
pub(super) fn line(label: &str, fact: &str) -> String {
    // A backup's manifest is untrusted.
    let fact = assay_model::sanitise(fact, usize::MAX).replace(['\n', '\t'], " ");
    screen::layout().facts(&[(format!("{label:8}"), fact)], 0)
}

fn more(text: &mut String, count: usize) {
    if count > SHOWN {
        text.push_str(&line("", &format!("and {} more; --json lists all", count - SHOWN)));
    }
}
