//! A folder that is created under a temporary name, and renamed once it is completely on the disk.

use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::PARTIAL;

use crate::printing::complain;

/// The final and the temporary name of a folder.
#[derive(Debug)]
pub(crate) struct FolderNames {
    path: PathBuf,
    partial: PathBuf,
}

impl FolderNames {
    /// Returns the names of a folder at `place`, and creates its parents. Returns an error if `place` is not empty.
    pub(crate) fn of(place: &Path) -> anyhow::Result<Self> {
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
        Ok(Self { path, partial })
    }

    /// Returns the temporary path, to which to write.
    pub(crate) fn partial(&self) -> &Path {
        &self.partial
    }

    /// Creates the folder under its temporary name, with mode 0700. Returns false if it exists.
    pub(crate) fn create(&self) -> anyhow::Result<bool> {
        match DirBuilder::new().mode(0o700).create(&self.partial) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            made => made.with_context(|| format!("can't create {}", self.partial.display())).map(|()| true),
        }
    }

    /// Waits until everything is on the disk, and gives the folder its final name.
    pub(crate) fn publish(&self) -> anyhow::Result<()> {
        let Self { path, partial } = self;
        let on_disk = || -> std::io::Result<()> { Ok(rustix::fs::syncfs(File::open(partial)?)?) };
        on_disk().with_context(|| format!("can't write {}", partial.display()))?;
        fs::rename(partial, path).with_context(|| format!("can't rename to {}", path.display()))?;
        let parent = path.parent().unwrap_or(path);
        File::open(parent).and_then(|folder| folder.sync_all()).with_context(|| parent.display().to_string())
    }
}

/// A folder that is being written. It is removed on drop unless it was finished.
#[derive(Debug)]
pub(super) struct BackupFolder {
    names: FolderNames,
    finished: bool,
}

impl BackupFolder {
    /// Creates the folder under its temporary name, with mode 0700. Returns an error if `place` is not empty.
    pub(super) fn begin(place: &Path) -> anyhow::Result<Self> {
        let names = FolderNames::of(place)?;
        if !names.create()? {
            let partial = names.partial.display();
            return Err(anyhow!("{partial} belongs to an incomplete or running backup: remove it first"));
        }
        Ok(Self { names, finished: false })
    }

    /// Returns the path to write to.
    pub(super) fn folder(&self) -> &Path {
        self.names.partial()
    }

    /// Waits until everything is on the disk, and renames the folder.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        self.names.publish()?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for BackupFolder {
    fn drop(&mut self) {
        if !self.finished
            && let Err(error) = fs::remove_dir_all(self.folder())
        {
            complain!("assay: warning: {} could not be removed: {error}", self.folder().display());
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
