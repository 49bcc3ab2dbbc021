//! Creates a backup while a server uses the data folder.
//!
//! The records are copied first, then the files that they name, which were written before the records. If files are
//! removed in between (a job was erased, an episode's evidence expired, a job with a policy server ended), the records
//! are copied again, so that they reflect the removal; files that were already copied are kept. Each round has less to
//! copy than the one before, so fewer files can be removed during it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, anyhow};
use assay_model::{Clock, SystemClock};
use assay_store::RecordsCopy;
use assay_worker::Cancel;
use indicatif::ProgressBar;

use super::backup_file::BackupFile;
use super::manifest::BackupManifest;
use super::named::Named;
use super::target::BackupFolder;
use super::{ARTIFACT_SECRET, BUCKET, SCENARIOS, SIGNING, files};
use crate::exit::{Failure, OrFail};

/// Maximum number of times that the records are copied.
const MAX_ROUNDS: u32 = 10;

/// Copies the data folder `data` to the new folder `to`.
pub(crate) fn create(data: &Path, to: &Path, bar: &ProgressBar, cancel: &Cancel) -> Result<BackupManifest, Failure> {
    if !data.join(RecordsCopy::FILE_NAME).is_file() {
        let what = anyhow!("--data {}: no records found ({})", data.display(), RecordsCopy::FILE_NAME);
        return Err(Failure::Usage(what));
    }
    let target = BackupFolder::begin(to).or_usage()?;
    let manifest = Copying { data, to: target.folder(), copied: BTreeMap::new(), bar, cancel }.run()?;
    manifest.write(target.folder()).or_internal()?;
    target.finish().or_internal()?;
    Ok(manifest)
}

struct Copying<'a> {
    data: &'a Path,
    to: &'a Path,
    copied: BTreeMap<String, BackupFile>,
    bar: &'a ProgressBar,
    cancel: &'a Cancel,
}

impl Copying<'_> {
    fn run(mut self) -> Result<BackupManifest, Failure> {
        let mut missing_before = None;
        for _ in 0..MAX_ROUNDS {
            let (records, mut manifest) = self.copy_records().or_internal()?;
            let named = Named::all(&records, self.data).or_internal()?;
            let missing = self.copy_named(&named)?;
            // Files missing from two rounds in a row were not just removed by the service; they are lost.
            if missing.is_empty() || missing_before.as_ref() == Some(&missing) {
                drop(records);
                self.copy_unnamed(&named).or_internal()?;
                self.prune(&named).or_internal()?;
                let entry = files::entry(self.to, RecordsCopy::FILE_NAME).or_internal()?;
                self.copied.insert(entry.path.clone(), entry);
                manifest.missing = missing;
                manifest.files = self.copied.into_values().collect();
                return Ok(manifest);
            }
            missing_before = Some(missing);
        }
        Err(Failure::Internal(anyhow!(
            "jobs are removed faster than they can be copied, so no backup was created; try again later"
        )))
    }

    /// Copies the current records over those of an earlier round.
    fn copy_records(&self) -> anyhow::Result<(RecordsCopy, BackupManifest)> {
        let to = self.to.join(RecordsCopy::FILE_NAME);
        match fs::remove_file(&to) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let created_at = SystemClock.now();
        let records = RecordsCopy::create(self.data, &to)?;
        let manifest = BackupManifest::new(RecordsCopy::schema(), created_at, records.counts()?);
        Ok((records, manifest))
    }

    /// Copies the files that the records name, and returns those that are missing.
    fn copy_named(&mut self, named: &BTreeSet<Named>) -> Result<Vec<String>, Failure> {
        self.bar.set_length(named.len() as u64);
        self.bar.set_position(0);
        let mut missing = Vec::new();
        for file in named {
            if self.cancel.is_cancelled() {
                return Err(Failure::Interrupted);
            }
            if !self.copy_first(&file.places()).or_internal()? {
                missing.extend(file.places().into_iter().next());
            }
            self.bar.inc(1);
        }
        Ok(missing)
    }

    /// Copies the file from the first place where it exists. Returns false if there is none.
    fn copy_first(&mut self, places: &[String]) -> anyhow::Result<bool> {
        if places.iter().any(|place| self.copied.contains_key(place)) {
            return Ok(true);
        }
        for place in places {
            if self.copy(place)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn copy(&mut self, path: &str) -> anyhow::Result<bool> {
        if self.copied.contains_key(path) {
            return Ok(true);
        }
        let entry = files::copy(self.data, self.to, path);
        let Some(entry) = entry.with_context(|| format!("can't copy {}", self.data.join(path).display()))? else {
            return Ok(false);
        };
        self.copied.insert(path.to_owned(), entry);
        Ok(true)
    }

    /// Copies the files that no record names: the other files of scenarios, and the server's secrets. This happens
    /// after the records were copied, so that the public keys include every key that signed a recorded statement.
    fn copy_unnamed(&mut self, named: &BTreeSet<Named>) -> anyhow::Result<()> {
        for file in named {
            let Named::Scenario(digest) = file else { continue };
            for part in [digest.to_string(), format!("{digest}.robots")] {
                let (files, folders) = files::walk(self.data, &Path::new(SCENARIOS).join(part))?;
                for folder in folders {
                    files::make_folder(self.data, self.to, &folder)?;
                }
                for file in files {
                    self.copy(&file)?;
                }
            }
            self.copy(&format!("{SCENARIOS}/{digest}.png"))?;
        }
        // The names of files that are still being written begin with a dot.
        let unfinished = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
        let (keys, _) = files::walk(self.data, Path::new(SIGNING))?;
        for path in keys.iter().filter(|path| !unfinished(path)) {
            self.copy(path)?;
        }
        self.copy(ARTIFACT_SECRET)?;
        self.copy(BUCKET)?;
        Ok(())
    }

    /// Removes files that were copied in an earlier round and are no longer named, because they were erased.
    fn prune(&mut self, named: &BTreeSet<Named>) -> anyhow::Result<()> {
        let kept: BTreeSet<String> = named.iter().flat_map(Named::places).collect();
        let is_secret = |path: &str| path.starts_with(SIGNING) || path == ARTIFACT_SECRET;
        let governed = |path: &str| !is_secret(path) && !path.starts_with(SCENARIOS) && path != BUCKET;
        let gone: Vec<String> =
            self.copied.keys().filter(|path| governed(path) && !kept.contains(*path)).cloned().collect();
        for path in gone {
            fs::remove_file(self.to.join(&path))?;
            self.copied.remove(&path);
        }
        Ok(())
    }
}
