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
pub(crate) mod named;
pub(crate) mod replay;
pub(crate) mod restore;
pub(crate) mod target;

pub(crate) use manifest::BackupManifest;

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// Suffix of an incomplete backup's folder.
const PARTIAL: &str = ".partial";
/// Folders and files of a data folder that a backup contains besides the records.
pub(crate) const BLOBS: &str = "blobs";
pub(crate) const MODELS: &str = assay_store::ModelFiles::FOLDER;
pub(crate) const POLICIES: &str = assay_store::ArchiveFiles::FOLDER;
pub(crate) const SCENARIOS: &str = "scenarios";
const SERVERS: &str = "servers";
const SIGNING: &str = "signing";
pub(crate) const ARTIFACT_SECRET: &str = "artifact-secret";
/// Names the bucket of evidence and archives, if they are not in the data folder; backups do not contain them then.
pub(crate) const BUCKET: &str = crate::service::file_storage::BUCKET_FILE;

/// Returns a progress bar labelled `prefix` that counts `what`; it is hidden without a terminal.
pub(crate) fn progress(prefix: &'static str, what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{prefix:>12.bold} [{bar:32.green/dim}] {pos}/{len} {msg}  {elapsed}");
    let bar = ProgressBar::new(0);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸ "));
    bar.set_prefix(prefix);
    bar.set_message(what);
    bar
}
