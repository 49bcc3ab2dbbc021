//! `assay restore`: a backup in the place of a data folder.

use serde_json::{Value, json};

use super::backup::{about, line, problems, text};
use crate::backup::progress;
use crate::backup::restore::restore;
use crate::cli::RestoreArgs;
use crate::exit::{Code, Failure, OrFail};
use crate::interrupt::cancel_on_signal;

pub(crate) fn run(arguments: &RestoreArgs) -> Result<Code, Failure> {
    let cancel = cancel_on_signal().ours()?;
    let bar = progress("restoring");
    let restored = restore(&arguments.from, &arguments.data, &bar, &cancel);
    bar.finish_and_clear();
    let found = restored?;
    let done = found.problems.is_empty();
    if arguments.json {
        let mut about = about(&found.manifest);
        about["restored"] = if done { json!(arguments.data) } else { Value::Null };
        about["problems"] = json!(found.problems);
        super::print(&serde_json::to_string_pretty(&about).ours()?);
    } else {
        let result = if done { arguments.data.display().to_string() } else { "nothing: the backup is damaged".into() };
        super::print(&format!("{}{}{}", text(&found.manifest), problems(&found), line("restored", &result)));
    }
    Ok(if done { Code::Success } else { Code::Unsafe })
}
