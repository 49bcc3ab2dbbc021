//! Looks whether a backup is what was backed up: every file against its hash, and the records against the files.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use assay_model::Sha256Digest;
use assay_store::{Blobs, RecordsCopy, SqliteRecords};
use assay_worker::Cancel;
use indicatif::ProgressBar;
use tempfile::TempDir;

use super::backup_file::BackupFile;
use super::files;
use super::manifest::BackupManifest;
use super::named::Named;
use crate::exit::{Failure, OrFail};

/// The findings of a check.
#[derive(Debug)]
pub(crate) struct Findings {
    /// Its list.
    pub(crate) manifest: BackupManifest,
    /// Problems, one line each.
    pub(crate) problems: Vec<String>,
    /// The records, in a folder for the time being: this version's schema.
    pub(crate) records: Option<OpenRecords>,
}

/// Records that were copied out of a backup, which stays as it is.
#[derive(Debug)]
pub(crate) struct OpenRecords {
    pub(crate) records: SqliteRecords,
    _folder: TempDir,
}

/// Checks the backup in `folder` without changing anything there.
pub(crate) fn check(folder: &Path, bar: &ProgressBar, cancel: &Cancel) -> Result<Findings, Failure> {
    let manifest = BackupManifest::read(folder).usage()?;
    let mut problems = Vec::new();
    let newer = manifest.schema > RecordsCopy::schema();
    if newer {
        let (found, known) = (manifest.schema, RecordsCopy::schema());
        let assay = &manifest.assay;
        problems.push(format!("assay {assay} made it, with schema {found}; this version knows up to {known}"));
    }
    problems.extend(changed(folder, &manifest, bar, cancel)?);
    let damaged = problems.iter().any(|problem| problem.starts_with(RecordsCopy::FILE_NAME));
    if newer || damaged {
        return Ok(Findings { manifest, problems, records: None });
    }
    let records = records(folder, &manifest, &mut problems).ours()?;
    Ok(Findings { manifest, problems, records })
}

/// Files that are not what the list says, or not in it.
fn changed(
    folder: &Path,
    manifest: &BackupManifest,
    bar: &ProgressBar,
    cancel: &Cancel,
) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    bar.set_length(manifest.files.len() as u64);
    bar.set_position(0);
    for entry in &manifest.files {
        if cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        problems.extend(problem(folder, entry));
        bar.inc(1);
    }
    let (found, _) = files::walk(folder, Path::new("")).ours()?;
    let listed = manifest.paths();
    let strange = found.iter().filter(|path| !listed.contains(path.as_str()));
    problems.extend(strange.map(|path| format!("{path} is not a file of this backup")));
    Ok(problems)
}

fn problem(folder: &Path, entry: &BackupFile) -> Option<String> {
    let path = &entry.path;
    match files::hash(&folder.join(path)) {
        Err(error) => Some(format!("{path} can't be read: {error}")),
        Ok((size, _)) if size != entry.size_bytes => {
            Some(format!("{path} has {size} bytes, {} were backed up", entry.size_bytes))
        }
        Ok((_, sha256)) if Some(sha256) != entry.sha256 => {
            Some(format!("{path} was changed: its SHA-256 is {sha256}, not {}", listed(entry)))
        }
        Ok(_) => None,
    }
}

/// The hash that the backup's list has for a file.
fn listed(entry: &BackupFile) -> String {
    entry.sha256.map_or_else(|| "a SHA-256 that is none".to_owned(), |sha256| sha256.to_string())
}

/// Opens a copy of the records, brought to this version's schema, and looks whether what they name is there.
fn records(
    folder: &Path,
    manifest: &BackupManifest,
    problems: &mut Vec<String>,
) -> anyhow::Result<Option<OpenRecords>> {
    let scratch =
        tempfile::Builder::new().prefix("assay-backup-").tempdir().context("the folder for temporary files")?;
    let file = scratch.path().join(RecordsCopy::FILE_NAME);
    files::copy(folder, scratch.path(), RecordsCopy::FILE_NAME)
        .context("copying the records to the folder for temporary files")?;
    if let Some(damage) = RecordsCopy::open(&file)?.check_integrity()? {
        problems.push(format!("{}: {damage}", RecordsCopy::FILE_NAME));
        return Ok(None);
    }
    let records = SqliteRecords::open(scratch.path(), "a check of a backup")?;
    let copy = RecordsCopy::open(&file)?;
    let recorded = copy.counts()?;
    if (recorded.jobs, recorded.episodes) != (manifest.jobs, manifest.episodes) {
        let (jobs, episodes) = (manifest.jobs, manifest.episodes);
        problems.push(format!("{jobs} jobs and {episodes} episodes were backed up, there are others in the records"));
    }
    let entries: BTreeMap<&str, &BackupFile> =
        manifest.files.iter().map(|entry| (entry.path.as_str(), entry)).collect();
    problems.extend(Named::all(&copy)?.iter().filter_map(|named| misplaced(folder, named, manifest, &entries)));
    Ok(Some(OpenRecords { records, _folder: scratch }))
}

/// Explains why the file named by the records is not the one in the backup.
fn misplaced(
    folder: &Path,
    named: &Named,
    manifest: &BackupManifest,
    entries: &BTreeMap<&str, &BackupFile>,
) -> Option<String> {
    let places = named.places();
    let Some(entry) = places.iter().find_map(|place| entries.get(place.as_str())) else {
        let place = places.into_iter().next().unwrap_or_default();
        // The backup says so itself.
        return (!manifest.missing.contains(&place)).then(|| format!("{place}, which the records name, is missing"));
    };
    let expected = named.sha256()?;
    let packed = matches!(named, Named::Artifact(..)) && places.first() != Some(&entry.path);
    let found = if packed {
        match Blobs::unpack_file(&folder.join(&entry.path)) {
            Ok(content) => Some(Sha256Digest::of(content)),
            Err(error) => return Some(format!("{} can't be unpacked: {error}", entry.path)),
        }
    } else {
        entry.sha256
    };
    let holds = found.map_or_else(|| listed(entry), |found| found.to_string());
    (found != Some(expected)).then(|| format!("{} holds {holds}, the records name {expected}", entry.path))
}
