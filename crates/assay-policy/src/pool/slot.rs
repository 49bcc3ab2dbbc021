//! Folders of a pool: one for itself, and in it a slot for each member, empty until it gets a policy.

use std::fs::Permissions;
use std::io::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_jail::jail_uid;

use super::models::PolicyModel;
use super::open_files::{make_open, make_open_if_missing, write_open};
use super::runner_files::{write_fork_server, write_runner};

/// Permissions for the owner and the jail's group, but no other user of the host.
const OWN: u32 = 0o750;
const PREFIX: &str = "pool-";
/// Maximum number of files of a policy; an intake allows fewer.
const MAX_FILES: usize = 100_000;

/// Creates the pool's folder, and removes those of pools whose process was killed.
pub(super) fn make_root(work_dir: &Path) -> Result<tempfile::TempDir, Error> {
    sweep(work_dir);
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let root = tempfile::Builder::new().prefix(&prefix).tempdir_in(work_dir)?;
    if let Some(id) = jail_uid() {
        std::os::unix::fs::chown(root.path(), None, Some(id))?;
    }
    std::fs::set_permissions(root.path(), Permissions::from_mode(OWN))?;
    Ok(root)
}

fn sweep(work_dir: &Path) {
    for entry in std::fs::read_dir(work_dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // An unused folder that cannot be removed only takes up space.
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
}

/// A member's folders, which share no file with those of another member: failed lookups of names, and link counts,
/// would carry information between them. Removed when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    path: PathBuf,
    /// The folder that it is in, which must outlive it.
    _within: Option<Arc<ServerFolder>>,
}

/// A fork server's folders: its runner, and the slots of its children. Removed when dropped.
#[derive(Debug)]
pub(super) struct ServerFolder {
    path: PathBuf,
}

impl ServerFolder {
    pub(super) fn make(path: PathBuf) -> Result<Self, Error> {
        make_open(&path)?;
        let folder = Self { path };
        write_fork_server(&folder.runner())?;
        make_open(&folder.slots())?;
        Ok(folder)
    }

    /// Returns the folder that the fork server mounts as `/runner`.
    pub(super) fn runner(&self) -> PathBuf {
        self.path.join("runner")
    }

    /// Returns the folder of the slots.
    pub(super) fn slots(&self) -> PathBuf {
        self.path.join("slots")
    }
}

impl Drop for ServerFolder {
    fn drop(&mut self) {
        // On error, the folder is removed with the pool's folder.
        drop(std::fs::remove_dir_all(&self.path));
    }
}

impl Slot {
    pub(super) fn make(path: PathBuf) -> Result<Self, Error> {
        make_open(&path)?;
        let slot = Self { path, _within: None };
        make_open(&slot.policy())?;
        write_runner(&slot.runner())?;
        Ok(slot)
    }

    /// Creates the slot of a forked process, which needs no runner.
    pub(super) fn of_server(path: PathBuf, server: &Arc<ServerFolder>) -> Result<Self, Error> {
        make_open(&path)?;
        let slot = Self { path, _within: Some(Arc::clone(server)) };
        make_open(&slot.policy())?;
        Ok(slot)
    }

    /// Returns the folder that the jail mounts as `/policy`.
    pub(super) fn policy(&self) -> PathBuf {
        self.path.join("policy")
    }

    /// Returns the folder that the jail mounts as `/runner`.
    pub(super) fn runner(&self) -> PathBuf {
        self.path.join("runner")
    }

    /// Makes an empty file for each model, on which the jail mounts it; in a tier without mounts, a link to the model.
    pub(super) fn make_places(&self, models: &[PolicyModel], can_mount: bool) -> Result<(), Error> {
        for model in models {
            let mut folder = self.policy();
            for part in model.path().parent().into_iter().flat_map(Path::components) {
                folder.push(part);
                make_open_if_missing(&folder)?;
            }
            let place = self.policy().join(model.path());
            if can_mount { write_open(&place, "")? } else { std::os::unix::fs::symlink(model.host(), &place)? }
        }
        Ok(())
    }

    /// Copies the files of `policy_dir` into it.
    pub(super) fn fill(&self, policy_dir: &Path) -> Result<(), Error> {
        let (mut open, mut files) = (vec![PathBuf::new()], 0);
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(policy_dir.join(&folder))? {
                let entry = entry?;
                let name = folder.join(entry.file_name());
                let target = self.policy().join(&name);
                let kind = entry.file_type()?;
                files += 1;
                if files > MAX_FILES {
                    return Err(Error::other("the policy's folder has too many files"));
                }
                if kind.is_dir() {
                    make_open_if_missing(&target)?;
                    open.push(name);
                } else if kind.is_file() {
                    std::fs::copy(entry.path(), &target)?;
                }
            }
        }
        Ok(())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // On error, the folder is removed with the pool's folder.
        drop(std::fs::remove_dir_all(&self.path));
    }
}
