//! The place of evidence and policy archives: the data folder, or a bucket.
//!
//! A server that is started with a different place than before would find evidence missing. So the data folder
//! remembers the bucket, and a server with another one does not start.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use assay_store::{ArchiveFiles, Blobs};
use tempfile::NamedTempFile;

use crate::settings::{BlobSettings, DownloadRoute};

/// Folder of the evidence in the data folder. With a bucket, it has only files that are about to be stored.
const BLOBS: &str = "blobs";
/// Folder of the evidence of jobs in it.
const JOBS: &str = "jobs";
/// Folder of fetched archives in it.
const COPIES: &str = "incoming";
/// File in the data folder with the address of the bucket.
pub(crate) const BUCKET_FILE: &str = "bucket";

/// The evidence and the archives.
pub(crate) struct FileStorage {
    pub(crate) blobs: Blobs,
    pub(crate) archives: ArchiveFiles,
}

impl FileStorage {
    /// Opens what the settings name.
    pub(crate) fn open(settings: &BlobSettings, data: &Path) -> anyhow::Result<Self> {
        let folder = data.join(BLOBS);
        let bucket = settings.bucket().context("blobs.url")?;
        let address = bucket.as_ref().map(|bucket| bucket.address().to_string());
        remember(data, address.as_deref())?;
        let Some(bucket) = bucket else {
            let blobs = Blobs::folder(&folder).context("the folder of evidence")?;
            return Ok(Self { blobs, archives: ArchiveFiles::folder(data) });
        };
        let redirects = settings.downloads == DownloadRoute::Redirect;
        let blobs = Blobs::bucket(&folder, bucket.clone(), redirects).context("the folder of incoming evidence")?;
        Ok(Self { blobs, archives: ArchiveFiles::bucket(bucket, &folder.join(COPIES)) })
    }
}

/// Returns the bucket of the data folder, if it was served with one.
pub(crate) fn bucket_of(data: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(data.join(BUCKET_FILE)) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| data.join(BUCKET_FILE).display().to_string()),
    }
}

/// Writes the bucket to the data folder, unless it has been served with another place.
fn remember(data: &Path, address: Option<&str>) -> anyhow::Result<()> {
    let (before, file) = (bucket_of(data)?, data.join(BUCKET_FILE));
    match (before, address) {
        (None, None) => Ok(()),
        (Some(before), Some(address)) if before == address => Ok(()),
        (Some(before), _) => bail!(
            "the evidence of this data folder is in {before}: set blobs.url to it, or, if you have moved the objects, \
             change {}",
            file.display()
        ),
        (None, Some(address)) => {
            for folder in [data.join(BLOBS).join(JOBS), data.join(ArchiveFiles::FOLDER)] {
                let is_empty = fs::read_dir(&folder).map_or(true, |mut entries| entries.next().is_none());
                ensure!(
                    is_empty,
                    "{} has files, which would be missing: copy it to {address}/{}, and then delete it here",
                    folder.display(),
                    folder.file_name().unwrap_or_default().display(),
                );
            }
            let mut written = NamedTempFile::new_in(data)?;
            writeln!(written, "{address}")?;
            written.as_file().sync_all()?;
            written.persist(&file).with_context(|| file.display().to_string())?;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_data_folder_remembers_its_bucket() {
        let data = tempfile::tempdir().unwrap();
        let remember = |address| remember(data.path(), address).map_err(|error| error.to_string());
        remember(None).unwrap();
        fs::create_dir(data.path().join(ArchiveFiles::FOLDER)).unwrap();
        fs::create_dir_all(data.path().join("blobs/jobs/1")).unwrap();
        let kept = remember(Some("s3://one/x")).unwrap_err();
        assert!(kept.contains("blobs/jobs has files") && kept.contains("copy it to s3://one/x/jobs"), "{kept}");
        fs::remove_dir(data.path().join("blobs/jobs/1")).unwrap();
        remember(Some("s3://one/x")).unwrap();
        remember(Some("s3://one/x")).unwrap();
        assert_eq!(bucket_of(data.path()).unwrap().as_deref(), Some("s3://one/x"));
        for other in [None, Some("s3://two")] {
            let refused = remember(other).unwrap_err();
            assert!(refused.contains("is in s3://one/x: set blobs.url to it"), "{refused}");
        }
    }
}
