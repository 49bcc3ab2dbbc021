//! A folder that gets its name only when all of it is on the disk.

use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::PARTIAL;

/// A folder that is being written. Dropping it removes what was written.
#[derive(Debug)]
pub(super) struct BackupFolder {
    path: PathBuf,
    partial: PathBuf,
    finished: bool,
}

impl BackupFolder {
    /// Makes the folder under its name for the time until it is whole, with mode 0700. Refuses a place that holds
    /// anything.
    pub(super) fn begin(place: &Path) -> anyhow::Result<Self> {
        let path = std::path::absolute(place)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(anyhow!("{} is no place for a new folder", place.display()));
        };
        let name = name.to_string_lossy();
        if name.ends_with(PARTIAL) {
            return Err(anyhow!("{}: names that end with {PARTIAL} are for what is not finished", place.display()));
        }
        refuse_used(&path, parent)?;
        fs::create_dir_all(parent).with_context(|| format!("can't make {}", parent.display()))?;
        let partial = parent.join(format!("{name}{PARTIAL}"));
        match DirBuilder::new().mode(0o700).create(&partial) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(anyhow!("{} is of a run that was not finished, or is running: remove it first", partial.display()))
            }
            made => made.with_context(|| format!("can't make {}", partial.display())).map(|()| Self {
                path,
                partial,
                finished: false,
            }),
        }
    }

    /// Where to write.
    pub(super) fn folder(&self) -> &Path {
        &self.partial
    }

    /// Waits until all of it is on the disk, and gives it its name.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        let on_disk = || -> std::io::Result<()> { Ok(rustix::fs::syncfs(File::open(&self.partial)?)?) };
        on_disk().with_context(|| format!("can't write {}", self.partial.display()))?;
        fs::rename(&self.partial, &self.path).with_context(|| format!("can't name {}", self.path.display()))?;
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

/// A place may be free, or an empty folder that can be replaced.
fn refuse_used(path: &Path, parent: &Path) -> anyhow::Result<()> {
    let mut entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("can't use {} as a folder", path.display()))?,
    };
    if entries.next().is_some() {
        return Err(anyhow!("{} is not empty: choose a folder that is new or empty", path.display()));
    }
    if fs::metadata(path)?.dev() != fs::metadata(parent)?.dev() {
        return Err(anyhow!("{} is a file system of its own: choose a new folder in it", path.display()));
    }
    Ok(())
}
