//! `backup.json`: the list of a backup's files.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Component, Path};

use anyhow::{Context, anyhow};
use assay_store::RecordsCopy;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::backup_file::BackupFile;
use super::{ARTIFACT_SECRET, BLOBS, BUCKET, MODELS, POLICIES, SCENARIOS, SERVERS, SIGNING, files};

/// Name of the manifest in the folder of a backup.
const FILE_NAME: &str = "backup.json";
/// The format of the manifest that this version writes and reads.
const FORMAT: u32 = 1;

/// Maximum size of a manifest, in bytes: about two million files.
const MAX_BYTES: u64 = 512 << 20;
/// Folders of a data folder whose files are backed up.
const FOLDERS: [&str; 6] = [BLOBS, MODELS, POLICIES, SCENARIOS, SERVERS, SIGNING];

/// The content of a backup.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BackupManifest {
    /// The format of this manifest.
    format: u32,
    /// Version of assay that created the backup.
    pub(crate) assay: String,
    /// Schema of the records.
    pub(crate) schema: u32,
    /// The time at which the records were copied.
    pub(crate) created_at: Timestamp,
    /// Number of recorded jobs.
    pub(crate) jobs: u64,
    /// Number of recorded episodes.
    pub(crate) episodes: u64,
    /// Every other file of the folder, sorted by path.
    pub(crate) files: Vec<BackupFile>,
    /// Files named by the records that the data folder did not have.
    pub(crate) missing: Vec<String>,
}

/// Returns true if a path is one of those that a backup contains. Such a path stays inside the folder, and does not
/// create other files beside the records, such as a write-ahead log.
fn is_of_a_data_folder(path: &str) -> bool {
    let mut parts = Path::new(path).components().map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    match (parts.next().flatten(), parts.next()) {
        (Some(name), None) => [RecordsCopy::FILE_NAME, ARTIFACT_SECRET, BUCKET].contains(&name),
        (Some(name), Some(next)) => FOLDERS.contains(&name) && next.is_some() && parts.all(|part| part.is_some()),
        (None, _) => false,
    }
}

impl BackupManifest {
    /// Creates the manifest of a new backup, without files.
    pub(super) fn new(schema: u32, created_at: Timestamp, recorded: assay_store::RecordCounts) -> Self {
        Self {
            format: FORMAT,
            assay: env!("CARGO_PKG_VERSION").to_owned(),
            schema,
            created_at,
            jobs: recorded.jobs,
            episodes: recorded.episodes,
            files: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Reads the manifest of the backup in `folder`. The manifest is untrusted, so its paths are checked to stay inside
    /// the folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        if folder.to_string_lossy().ends_with(super::PARTIAL) {
            return Err(anyhow!("{} is an incomplete backup; use a complete one", folder.display()));
        }
        let file = folder.join(FILE_NAME);
        let text = files::read(&file, MAX_BYTES);
        let text = text.with_context(|| format!("{} is not a backup: {FILE_NAME}", folder.display()))?;
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let head: Head = serde_json::from_slice(&text).with_context(|| file.display().to_string())?;
        if head.format != FORMAT {
            let found = head.format;
            return Err(anyhow!(
                "{} has format {found}, but this version reads format {FORMAT}: use a newer assay",
                file.display()
            ));
        }
        let manifest: Self = serde_json::from_slice(&text).with_context(|| file.display().to_string())?;
        let paths = manifest.files.iter().map(|entry| &entry.path).chain(&manifest.missing);
        if let Some(path) = paths.into_iter().find(|path| !is_of_a_data_folder(path)) {
            return Err(anyhow!("{} names {path:?}, which is not a file of a data folder", file.display()));
        }
        if !manifest.files.iter().any(|entry| entry.path == RecordsCopy::FILE_NAME) {
            return Err(anyhow!(
                "{} does not name {}, which every backup contains",
                file.display(),
                RecordsCopy::FILE_NAME
            ));
        }
        Ok(manifest)
    }

    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let mut file = BufWriter::new(File::create_new(folder.join(FILE_NAME))?);
        serde_json::to_writer(&mut file, self)?;
        file.write_all(b"\n")?;
        Ok(file.flush()?)
    }

    /// Returns the paths of all files, including the manifest itself.
    pub(super) fn paths(&self) -> BTreeSet<&str> {
        self.files.iter().map(|entry| entry.path.as_str()).chain([FILE_NAME]).collect()
    }

    /// Returns the total size of all files in bytes.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.files.iter().map(|entry| entry.size_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::is_of_a_data_folder;

    #[test]
    fn a_list_names_files_of_a_data_folder() {
        for path in ["assay.db", "artifact-secret", "blobs/a/b", "policies/x.zip", "signing/key.pem"] {
            assert!(is_of_a_data_folder(path), "{path}");
        }
        for path in ["assay.db-wal", "../x", "/etc/passwd", "blobs", "blobs/../../x", "", "bootstrap-key", "assay.db/x"]
        {
            assert!(!is_of_a_data_folder(path), "{path}");
        }
    }
}
