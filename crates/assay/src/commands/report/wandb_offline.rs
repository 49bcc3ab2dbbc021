//! `assay report --wandb-offline`: writes an offline run of Weights & Biases.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_model::JobReport;
use assay_report::wandb;

/// Folder of a run with the files that are uploaded.
const FILES: &str = "files";

/// Writes the run into a new folder in `parent`, with a copy of the report's `text`, and returns the folder.
///
/// # Errors
/// The folder exists already, or cannot be written.
pub(super) fn write(report: &JobReport, text: &str, parent: &Path) -> anyhow::Result<PathBuf> {
    let run = wandb::render(report, env!("CARGO_PKG_VERSION"));
    let folder = parent.join(&run.folder);
    fs::create_dir_all(parent).with_context(|| format!("can't create {}", parent.display()))?;
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => anyhow!("{} exists already: remove it, or choose another folder", folder.display()),
        _ => anyhow!(error).context(format!("can't create {}", folder.display())),
    })?;
    let files = folder.join(FILES);
    fs::create_dir(&files).with_context(|| format!("can't create {}", files.display()))?;
    let copy = files.join(wandb::REPORT_FILE);
    fs::write(&copy, text).with_context(|| format!("can't write {}", copy.display()))?;
    let log = folder.join(&run.log_name);
    fs::write(&log, &run.log).with_context(|| format!("can't write {}", log.display()))?;
    Ok(folder)
}
