//! `assay backup`: makes a copy of a data folder, or checks one.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::backup::check::{Findings, check};
use crate::backup::create::create;
use crate::backup::replay::{Replayable, Replayed};
use crate::backup::{BackupManifest, progress};
use crate::exit::{Code, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::options::IsolationArgs;
use crate::screen;

/// Lines about what is wrong that are printed; `--json` has all.
const SHOWN: usize = 20;
const MIB: u64 = 1 << 20;

#[derive(Debug, Args)]
#[command(
    after_help = "A backup is a folder: the records as of one moment, every file that they name, and backup.json with \
their hashes. It is called TO.partial until it is complete. It holds secrets: protect it as you protect the server.

Exit codes: 0 done, or nothing is wrong, 1 something is missing or wrong, 2 wrong use or input, 4 internal error, 130 \
interrupted.

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
    /// Check this backup: its records, the SHA-256 of every file, and a replay of one episode
    #[arg(long, value_name = "FOLDER", conflicts_with = "to")]
    check: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    isolation: IsolationArgs,
}

pub(crate) fn run(arguments: &BackupArgs) -> Result<Code, Failure> {
    match (&arguments.check, &arguments.to, &arguments.data) {
        (Some(folder), _, _) => check_backup(arguments, folder),
        (None, Some(to), Some(data)) => make(arguments, data, to),
        _ => Err(Failure::Usage(anyhow!("say where to (TO) and from which folder (--data DIR)"))),
    }
}

fn make(arguments: &BackupArgs, data: &Path, to: &Path) -> Result<Code, Failure> {
    let cancel = cancel_on_signal().ours()?;
    let bar = progress("copying");
    let made = create(data, to, &bar, &cancel);
    bar.finish_and_clear();
    let manifest = made?;
    if arguments.json {
        let mut about = about(&manifest);
        about["backup"] = json!(to);
        super::stdout::print(&serde_json::to_string_pretty(&about).ours()?);
    } else {
        super::stdout::print(&format!("{}{}", line("backup", &to.display().to_string()), text(&manifest)));
    }
    Ok(if manifest.missing.is_empty() { Code::Success } else { Code::Unsafe })
}

fn check_backup(arguments: &BackupArgs, folder: &Path) -> Result<Code, Failure> {
    let cancel = cancel_on_signal().ours()?;
    let bar = progress("checking");
    let found = check(folder, &bar, &cancel);
    bar.finish_and_clear();
    let mut found = found?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ours()?;
    let replayed = match replay(arguments, folder, &found, &runtime) {
        Ok(replayed) => replayed,
        Err(Failure::Interrupted) => return Err(Failure::Interrupted),
        Err(Failure::Usage(error) | Failure::Ours(error)) => {
            found.problems.push(format!("no episode could be replayed: {error:#}"));
            None
        }
    };
    found.problems.extend(replayed.as_ref().and_then(differs));
    let sound = found.problems.is_empty() && found.manifest.missing.is_empty();
    if arguments.json {
        let mut about = about(&found.manifest);
        about["backup"] = json!(folder);
        about["sound"] = json!(sound);
        about["problems"] = json!(found.problems);
        about["replay"] = replayed.as_ref().map_or(Value::Null, |replayed| {
            json!({ "job_id": replayed.job, "episode": replayed.report.episode, "same": replayed.report.same })
        });
        super::stdout::print(&serde_json::to_string_pretty(&about).ours()?);
    } else {
        let replay = replayed.as_ref().map_or_else(|| "none".to_owned(), Replayed::words);
        let verdict = if sound { "nothing is wrong with it" } else { "NOT what was backed up" };
        let head = format!("{}{}", line("backup", &folder.display().to_string()), text(&found.manifest));
        let tail = format!("{}{}{}", line("replay", &replay), problems(&found), line("result", verdict));
        super::stdout::print(&format!("{head}{tail}"));
    }
    Ok(if sound { Code::Success } else { Code::Unsafe })
}

/// Replays an episode, if the records can be read and there is one.
fn replay(
    arguments: &BackupArgs,
    folder: &Path,
    found: &Findings,
    runtime: &Runtime,
) -> Result<Option<Replayed>, Failure> {
    let Some(open) = &found.records else { return Ok(None) };
    let Some(replayable) = Replayable::newest(&open.records, runtime).ours()? else { return Ok(None) };
    let engine = super::machine::engine(&super::machine::installation()?, Some(1), arguments.isolation.accepted())?;
    engine.runs_policies().ours()?;
    let cancel = cancel_on_signal().ours()?;
    let replayed = replayable.replay(folder, &open.records, engine, runtime, &cancel);
    if cancel.is_cancelled() {
        return Err(Failure::Interrupted);
    }
    replayed.map(Some).ours()
}

/// Explains why a replay contradicts the backup. On another machine, a different result is to be expected.
fn differs(replayed: &Replayed) -> Option<String> {
    let report = &replayed.report;
    let unexplained = !report.same && report.fingerprint_differences.is_empty();
    unexplained.then(|| format!("the replay of job {} is not what was recorded", replayed.job))
}

impl Replayed {
    fn words(&self) -> String {
        let Self { job, report } = self;
        if report.same {
            return format!("episode {} of job {job}: the same to the bit", report.episode);
        }
        let names: Vec<&str> = report.fingerprint_differences.iter().map(|part| part.name.as_str()).collect();
        let why = if names.is_empty() { String::new() } else { format!("; not as recorded: {}", names.join(", ")) };
        format!("episode {} of job {job}: DIFFERENT{why}", report.episode)
    }
}

/// A backup, for programs.
pub(super) fn about(manifest: &BackupManifest) -> Value {
    json!({
        "assay": manifest.assay, "schema": manifest.schema, "created_at": manifest.created_at, "jobs": manifest.jobs,
        "episodes": manifest.episodes, "files": manifest.files.len(), "size_bytes": manifest.size_bytes(),
        "missing": manifest.missing,
    })
}

/// A backup in a few lines.
pub(super) fn text(manifest: &BackupManifest) -> String {
    let BackupManifest { jobs, episodes, schema, assay, .. } = manifest;
    let made = manifest.created_at.strftime("%Y-%m-%d %H:%M:%S UTC");
    let size = manifest.size_bytes().div_ceil(MIB);
    let mut text = line("made", &format!("{made}, by assay {assay}"));
    text.push_str(&line("records", &format!("{jobs} jobs, {episodes} episodes, schema {schema}")));
    text.push_str(&line("files", &format!("{}, {size} MiB", manifest.files.len())));
    for path in manifest.missing.iter().take(SHOWN) {
        text.push_str(&line("missing", &format!("{path}: the data folder did not have it")));
    }
    more(&mut text, manifest.missing.len());
    text
}

/// Lists the problems, one line each.
pub(super) fn problems(found: &Findings) -> String {
    let mut text = String::new();
    for problem in found.problems.iter().take(SHOWN) {
        text.push_str(&line("problem", problem));
    }
    more(&mut text, found.problems.len());
    text
}

/// A label, and what there is to say beside it.
pub(super) fn line(label: &str, fact: &str) -> String {
    // A backup's list may come from anywhere.
    let fact = assay_model::sanitise(fact, usize::MAX).replace(['\n', '\t'], " ");
    screen::layout().facts(&[(format!("{label:8}"), fact)], 0)
}

fn more(text: &mut String, count: usize) {
    if count > SHOWN {
        text.push_str(&line("", &format!("and {} more: --json has all", count - SHOWN)));
    }
}
