//! Restoring of a data folder from a backup.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use assay_store::RecordsCopy;
use assay_worker::Cancel;
use indicatif::ProgressBar;

use super::backup_file::BackupFile;
use super::check::{Findings, check};
use super::files;
use super::manifest::BackupManifest;
use super::target::BackupFolder;
use crate::exit::{Failure, OrFail};

/// Checks the backup `from`, and copies it to the new folder `data` if the check finds no problems.
pub(crate) fn restore(from: &Path, data: &Path, bar: &ProgressBar, cancel: &Cancel) -> Result<Findings, Failure> {
    let manifest = BackupManifest::read(from).or_usage()?;
    let (found, known) = (manifest.schema, RecordsCopy::schema());
    if found > known {
        let what = anyhow!(
            "the backup has schema {found}, but this version supports schemas up to {known}: use a newer assay"
        );
        return Err(Failure::Usage(what.context(from.display().to_string())));
    }
    let target = BackupFolder::begin(data).or_usage()?;
    let mut findings = check(from, bar, cancel)?;
    // Removes the temporary copy of the records, which is not needed any more.
    findings.records = None;
    if !findings.problems.is_empty() {
        return Ok(findings);
    }
    let (_, folders) = files::walk(from, Path::new("")).or_internal()?;
    for folder in folders {
        files::make_folder(from, target.folder(), &folder).or_internal()?;
    }
    bar.set_position(0);
    for entry in &findings.manifest.files {
        if cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        restore_file(from, target.folder(), entry).or_internal()?;
        bar.inc(1);
    }
    target.finish().or_internal()?;
    Ok(findings)
}

/// Copies a file and gives it the permissions that it had when it was backed up.
fn restore_file(from: &Path, to: &Path, entry: &BackupFile) -> anyhow::Result<()> {
    let path = &entry.path;
    let copied = files::copy(from, to, path).with_context(|| format!("can't copy {path}"))?;
    if copied.is_none_or(|copied| copied.sha256 != entry.sha256) {
        return Err(anyhow!("{path} changed while it was restored"));
    }
    Ok(fs::set_permissions(to.join(path), files::permissions(entry))?)
}
