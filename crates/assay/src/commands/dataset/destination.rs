//! The folder of a dataset, which appears when it is complete.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::TempDir;

/// Permissions of the folder; files in it get those of the process.
const MODE: u32 = 0o755;

/// A folder that does not exist yet.
#[derive(Debug)]
pub(super) struct Destination {
    path: PathBuf,
    parent: PathBuf,
}

impl Destination {
    /// Checks that nothing is at `path`.
    pub(super) fn check(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        if path.symlink_metadata().is_ok() {
            return Err(anyhow!("--out {shown} exists; choose a new folder, since datasets are never overwritten"));
        }
        let name = path.file_name().ok_or_else(|| anyhow!("--out {shown}: not the name of a folder"))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).with_context(|| format!("--out: can't create the folder {}", parent.display()))?;
        Ok(Self { path: parent.join(name), parent: parent.to_owned() })
    }

    /// Creates a temporary folder beside it, which disappears unless it is published.
    pub(super) fn create(&self) -> anyhow::Result<TempDir> {
        let folder = tempfile::Builder::new().prefix(".assay-dataset-").tempdir_in(&self.parent);
        folder.with_context(|| format!("--out: can't create a folder in {}", self.parent.display()))
    }

    /// Moves the complete folder to its place.
    pub(super) fn publish(&self, folder: TempDir) -> anyhow::Result<()> {
        let shown = self.path.display();
        fs::set_permissions(folder.path(), Permissions::from_mode(MODE)).with_context(|| format!("--out {shown}"))?;
        match renameat_with(CWD, folder.path(), CWD, &self.path, RenameFlags::NOREPLACE) {
            // Some file systems can't rename without replacing. An existing folder that is not empty is never replaced.
            Err(Errno::INVAL | Errno::NOSYS) => fs::rename(folder.path(), &self.path),
            other => other.map_err(Into::into),
        }
        .with_context(|| format!("--out: can't create {shown}"))?;
        let _ = folder.keep();
        Ok(())
    }
}
