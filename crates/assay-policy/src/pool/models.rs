//! Models of a policy that are not in its folder: files of this machine that its processes see, and share.

use std::io::{Error, ErrorKind};
use std::path::{Component, Path, PathBuf};

use assay_jail::{Bind, MAX_FORK_FILES};

/// The policy's folder in its jail.
const POLICY: &str = "/policy";

/// A model, mounted read-only in the jails of its policy. All of them use the same pages of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyModel {
    /// Path in the policy's folder, of plain names.
    path: PathBuf,
    /// Path on this machine.
    host: PathBuf,
    bytes: u64,
}

impl PolicyModel {
    /// Creates a model from the file `host`, for the path `path` in the policy's folder. The file must not change while
    /// the model exists. If this process is root, the jail's user must be able to reach it.
    ///
    /// # Errors
    /// The file cannot be opened, is not a regular file, or the path is not one of a file in a folder.
    pub fn new(path: &str, host: &Path) -> Result<Self, Error> {
        let about = std::fs::metadata(host)?;
        let path = Path::new(path);
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !about.is_file() || !is_plain || path.as_os_str().is_empty() {
            return Err(ErrorKind::InvalidInput.into());
        }
        Ok(Self { path: path.to_owned(), host: host.to_owned(), bytes: about.len() })
    }

    /// Returns the path in the policy's folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path on this machine.
    pub(super) fn host(&self) -> &Path {
        &self.host
    }

    pub(super) fn bind(&self) -> Bind {
        Bind::read_only(&self.host, Path::new(POLICY).join(&self.path))
    }

    /// Has the kernel read the file, so that no process can see which part of it another has used.
    fn read_ahead(&self) -> Result<(), Error> {
        let file = std::fs::File::open(&self.host)?;
        Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::WillNeed)?)
    }
}

/// Returns the size of all models, in bytes.
pub(super) fn total_bytes(models: &[PolicyModel]) -> u64 {
    models.iter().map(|model| model.bytes).fold(0, u64::saturating_add)
}

/// Prepares models for a process.
pub(super) fn read_ahead(models: &[PolicyModel]) -> Result<(), Error> {
    if models.len() > MAX_FORK_FILES {
        return Err(Error::other("the policy has too many models"));
    }
    models.iter().try_for_each(PolicyModel::read_ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_at_plain_paths_are_models() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for (path, is_accepted) in
            [("nets/a.onnx", true), ("a", true), ("", false), ("../a", false), ("/a", false), ("nets/../../a", false)]
        {
            assert_eq!(PolicyModel::new(path, file.path()).is_ok(), is_accepted, "{path}");
        }
        assert!(PolicyModel::new("a", Path::new("/dev/null")).is_err(), "a device");
        assert!(PolicyModel::new("a", &std::env::temp_dir()).is_err(), "a folder");
    }
}
