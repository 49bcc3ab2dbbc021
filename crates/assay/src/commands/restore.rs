//! `assay restore`: restores a data folder from a backup.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::backup::{about, line, problem_lines, text};
use crate::backup::progress;
use crate::backup::restore::restore;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;

#[derive(Debug, Args)]
#[command(
    after_help = "The backup is checked first; nothing is restored from one that is damaged, incomplete, or from a newer \
version. Then start a server on DIR, of the same version or a newer one.

Exit codes: 0 restored, 1 the backup is damaged, 2 wrong usage or input, 4 internal error, 130 interrupted.

Example: assay restore /backups/monday --data /var/lib/assay"
)]
pub(crate) struct RestoreArgs {
    /// The backup
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// The data folder to create: new, or empty
    #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
    data: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &RestoreArgs) -> Result<ExitStatus, Failure> {
    let cancel = cancel_on_signal().or_internal()?;
    let bar = progress("restoring", "files");
    let restored = restore(&arguments.from, &arguments.data, &bar, &cancel);
    bar.finish_and_clear();
    let found = restored?;
    let done = found.problems.is_empty();
    if arguments.json {
        let mut about = about(&found.manifest);
        about["restored"] = if done { json!(arguments.data) } else { Value::Null };
        about["problems"] = json!(found.problems);
        super::stdout::print(&serde_json::to_string_pretty(&about).or_internal()?);
    } else {
        let result = if done { arguments.data.display().to_string() } else { "nothing: the backup is damaged".into() };
        super::stdout::print(&format!(
            "{}{}{}",
            text(&found.manifest),
            problem_lines(&found.problems),
            line("restored", &result)
        ));
    }
    Ok(if done { ExitStatus::Success } else { ExitStatus::Unsafe })
}
