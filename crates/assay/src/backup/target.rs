//! A folder that is created under a temporary name, and renamed once it is completely on the disk.

use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::PARTIAL;

/// A folder that is being written. It is removed on drop unless it was finished.
#[derive(Debug)]
pub(super) struct BackupFolder {
    path: PathBuf,
    partial: PathBuf,
    finished: bool,
}

impl BackupFolder {
    /// Creates the folder under its temporary name, with mode 0700. Returns an error if `place` is not empty.
    pub(super) fn begin(place: &Path) -> anyhow::Result<Self> {
        let path = std::path::absolute(place)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(anyhow!("can't create a folder at {}", place.display()));
        };
        let name = name.to_string_lossy();
        if name.ends_with(PARTIAL) {
            return Err(anyhow!(
                "{}: names that end with {PARTIAL} are reserved for incomplete folders",
                place.display()
            ));
        }
        ensure_replaceable(&path, parent)?;
        fs::create_dir_all(parent).with_context(|| format!("can't create {}", parent.display()))?;
        let partial = parent.join(format!("{name}{PARTIAL}"));
        match DirBuilder::new().mode(0o700).create(&partial) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(anyhow!("{} belongs to an incomplete or running backup: remove it first", partial.display()))
            }
            made => made.with_context(|| format!("can't create {}", partial.display())).map(|()| Self {
                path,
                partial,
                finished: false,
            }),
        }
    }

    /// Returns the path to write to.
    pub(super) fn folder(&self) -> &Path {
        &self.partial
    }

    /// Waits until everything is on the disk, and renames the folder.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        let on_disk = || -> std::io::Result<()> { Ok(rustix::fs::syncfs(File::open(&self.partial)?)?) };
        on_disk().with_context(|| format!("can't write {}", self.partial.display()))?;
        fs::rename(&self.partial, &self.path).with_context(|| format!("can't rename to {}", self.path.display()))?;
        self.finished = true;
        let parent = self.path.parent().unwrap_or(&self.path);
        File::open(parent).and_then(|folder| folder.sync_all()).with_context(|| parent.display().to_string())
    }
}

impl Drop for BackupFolder {
    fn drop(&mut self) {
        if !self.finished
            && let Err(error) = fs::remove_dir_all(&self.partial)
        {
            eprintln!("assay: warning: {} could not be removed: {error}", self.partial.display());
        }
    }
}

/// Returns an error unless `path` does not exist, or is an empty folder that a rename can replace.
fn ensure_replaceable(path: &Path, parent: &Path) -> anyhow::Result<()> {
    let mut entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("can't use {} as a folder", path.display()))?,
    };
    if entries.next().is_some() {
        return Err(anyhow!("{} is not empty: choose a folder that is new or empty", path.display()));
    }
    if fs::metadata(path)?.dev() != fs::metadata(parent)?.dev() {
        return Err(anyhow!("{} is a mount point: choose a new folder inside it", path.display()));
    }
    Ok(())
}
