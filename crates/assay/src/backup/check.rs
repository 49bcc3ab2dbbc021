//! Checks a backup: every file against its digest, and the records against the files.

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
    /// The backup's manifest.
    pub(crate) manifest: BackupManifest,
    /// Problems, one line each.
    pub(crate) problems: Vec<String>,
    /// The records, in a temporary folder and migrated to this version's schema.
    pub(crate) records: Option<OpenRecords>,
}

/// Records that were copied out of a backup; the backup itself is not changed.
#[derive(Debug)]
pub(crate) struct OpenRecords {
    pub(crate) records: SqliteRecords,
    _folder: TempDir,
}

/// Checks the backup in `folder` without changing anything there.
pub(crate) fn check(folder: &Path, bar: &ProgressBar, cancel: &Cancel) -> Result<Findings, Failure> {
    let manifest = BackupManifest::read(folder).or_usage()?;
    let mut problems = Vec::new();
    let newer = manifest.schema > RecordsCopy::schema();
    if newer {
        let (found, known) = (manifest.schema, RecordsCopy::schema());
        let assay = &manifest.assay;
        problems.push(format!(
            "it was made by assay {assay} with schema {found}, which is newer than schema {known} of this version"
        ));
    }
    problems.extend(check_files(folder, &manifest, bar, cancel)?);
    let damaged = problems.iter().any(|problem| problem.starts_with(RecordsCopy::FILE_NAME));
    if newer || damaged {
        return Ok(Findings { manifest, problems, records: None });
    }
    let records = records(folder, &manifest, &mut problems).or_internal()?;
    Ok(Findings { manifest, problems, records })
}

/// Returns the problems with files that differ from the manifest or are not in it.
fn check_files(
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
        problems.extend(check_file(folder, entry));
        bar.inc(1);
    }
    let (found, _) = files::walk(folder, Path::new("")).or_internal()?;
    let listed = manifest.paths();
    let unlisted = found.iter().filter(|path| !listed.contains(path.as_str()));
    problems.extend(unlisted.map(|path| format!("{path} is not a file of this backup")));
    Ok(problems)
}

fn check_file(folder: &Path, entry: &BackupFile) -> Option<String> {
    let path = &entry.path;
    match files::hash(&folder.join(path)) {
        Err(error) => Some(format!("{path} can't be read: {error}")),
        Ok((size, _)) if size != entry.size_bytes => {
            Some(format!("{path} has {size} bytes, but {} were backed up", entry.size_bytes))
        }
        Ok((_, sha256)) if Some(sha256) != entry.sha256 => {
            Some(format!("{path} was changed: its SHA-256 is {sha256}, not {}", listed(entry)))
        }
        Ok(_) => None,
    }
}

/// Returns the digest of a file in the manifest, as text.
fn listed(entry: &BackupFile) -> String {
    entry.sha256.map_or_else(|| "an invalid SHA-256".to_owned(), |sha256| sha256.to_string())
}

/// Opens a copy of the records, migrated to this version's schema, and checks that the files that they name are in the
/// backup.
fn records(
    folder: &Path,
    manifest: &BackupManifest,
    problems: &mut Vec<String>,
) -> anyhow::Result<Option<OpenRecords>> {
    let scratch =
        tempfile::Builder::new().prefix("assay-backup-").tempdir().context("can't create a temporary folder")?;
    let file = scratch.path().join(RecordsCopy::FILE_NAME);
    files::copy(folder, scratch.path(), RecordsCopy::FILE_NAME)
        .context("can't copy the records to a temporary folder")?;
    if let Some(damage) = RecordsCopy::open(&file)?.check_integrity()? {
        problems.push(format!("{}: {damage}", RecordsCopy::FILE_NAME));
        return Ok(None);
    }
    let records = SqliteRecords::open(scratch.path(), "a check of a backup")?;
    let copy = RecordsCopy::open(&file)?;
    let recorded = copy.counts()?;
    if (recorded.jobs, recorded.episodes) != (manifest.jobs, manifest.episodes) {
        let (jobs, episodes) = (manifest.jobs, manifest.episodes);
        problems
            .push(format!("{jobs} jobs and {episodes} episodes were backed up, but the records contain other numbers"));
    }
    let entries: BTreeMap<&str, &BackupFile> =
        manifest.files.iter().map(|entry| (entry.path.as_str(), entry)).collect();
    problems.extend(Named::all(&copy, folder)?.iter().filter_map(|named| misplaced(folder, named, manifest, &entries)));
    Ok(Some(OpenRecords { records, _folder: scratch }))
}

/// Returns the reason if the file that the records name is missing from the backup or is another one.
fn misplaced(
    folder: &Path,
    named: &Named,
    manifest: &BackupManifest,
    entries: &BTreeMap<&str, &BackupFile>,
) -> Option<String> {
    let places = named.places();
    let Some(entry) = places.iter().find_map(|place| entries.get(place.as_str())) else {
        let place = places.into_iter().next().unwrap_or_default();
        // The manifest lists it as missing already.
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
    (found != Some(expected)).then(|| format!("{} contains {holds}, but the records name {expected}", entry.path))
}
