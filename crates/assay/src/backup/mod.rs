//! Backups of a data folder: a consistent snapshot of the records, every file that they name, and a list of all digests
//! ([`BackupManifest`]).
//!
//! A backup is written to `TO.partial` and renamed once it is completely on the disk, so a folder with any other name
//! is complete. Restoring works the same way.
//!
//! Where to begin: [`create`](create::create), then [`check`](check::check) and [`restore`](restore::restore).

mod backup_file;
pub(crate) mod check;
pub(crate) mod create;
mod files;
mod manifest;
mod named;
pub(crate) mod replay;
pub(crate) mod restore;
mod target;

pub(crate) use manifest::BackupManifest;

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// Suffix of an incomplete backup's folder.
const PARTIAL: &str = ".partial";
/// Folders and files of a data folder that a backup contains besides the records.
const BLOBS: &str = "blobs";
const MODELS: &str = assay_store::ModelFiles::FOLDER;
const POLICIES: &str = assay_store::ArchiveFiles::FOLDER;
const SCENARIOS: &str = "scenarios";
const SERVERS: &str = "servers";
const SIGNING: &str = "signing";
const ARTIFACT_SECRET: &str = "artifact-secret";
/// Names the bucket of evidence and archives, if they are not in the data folder; backups do not contain them then.
const BUCKET: &str = crate::service::file_storage::BUCKET_FILE;

/// Returns a progress bar labelled `prefix`, which is hidden without a terminal.
pub(crate) fn progress(prefix: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{prefix:>12.bold} [{bar:32.green/dim}] {pos}/{len} files  {elapsed}");
    let bar = ProgressBar::new(0);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸ "));
    bar.set_prefix(prefix);
    bar
}
