//! Puts a backup in the place of a data folder that was lost.

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

/// Checks the backup `from`, and copies it to the new folder `data` if nothing is wrong with it.
pub(crate) fn restore(from: &Path, data: &Path, bar: &ProgressBar, cancel: &Cancel) -> Result<Findings, Failure> {
    let manifest = BackupManifest::read(from).usage()?;
    let (found, known) = (manifest.schema, RecordsCopy::schema());
    if found > known {
        let what = anyhow!("the backup has schema {found}, this version knows up to {known}: use a newer assay");
        return Err(Failure::Usage(what.context(from.display().to_string())));
    }
    let target = BackupFolder::begin(data).usage()?;
    let mut findings = check(from, bar, cancel)?;
    // Records that nobody reads any more.
    findings.records = None;
    if !findings.problems.is_empty() {
        return Ok(findings);
    }
    let (_, folders) = files::walk(from, Path::new("")).ours()?;
    for folder in folders {
        files::make_folder(from, target.folder(), &folder).ours()?;
    }
    bar.set_position(0);
    for entry in &findings.manifest.files {
        if cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        put(from, target.folder(), entry).ours()?;
        bar.inc(1);
    }
    target.finish().ours()?;
    Ok(findings)
}

/// Copies a file, which has the permissions then that it had at the backup, whatever became of them since.
fn put(from: &Path, to: &Path, entry: &BackupFile) -> anyhow::Result<()> {
    let path = &entry.path;
    let copied = files::copy(from, to, path).with_context(|| format!("can't copy {path}"))?;
    if copied.is_none_or(|copied| copied.sha256 != entry.sha256) {
        return Err(anyhow!("{path} changed while it was restored"));
    }
    Ok(fs::set_permissions(to.join(path), files::permissions(entry))?)
}
