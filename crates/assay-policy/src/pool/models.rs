//! Models of a policy that are not in its folder: files of this machine that its processes see, and share.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
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
    /// Device and inode of the file.
    identity: (u64, u64),
}

/// Size of a piece in which models are read ahead.
const PIECE_BYTES: usize = 1 << 20;

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
        let identity = (about.dev(), about.ino());
        Ok(Self { path: path.to_owned(), host: host.to_owned(), bytes: about.len(), identity })
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

    /// Reads the file into the kernel's cache, so that no process can see which part of it another has used. (Advice to
    /// the kernel covers the first MiB only.)
    fn read_ahead(&self) -> Result<(), Error> {
        let (mut file, mut piece) = (File::open(&self.host)?, vec![0; PIECE_BYTES]);
        while file.read(&mut piece)? > 0 {}
        Ok(())
    }

    /// Returns true if the file is still the one that the model was created from.
    fn is_there(&self) -> bool {
        std::fs::metadata(&self.host).is_ok_and(|about| (about.dev(), about.ino()) == self.identity)
    }
}

/// Returns the models with different files: a file may have several paths.
fn files(models: &[PolicyModel]) -> impl Iterator<Item = &PolicyModel> {
    let is_first =
        |(index, model): &(usize, &PolicyModel)| models[..*index].iter().all(|other| other.identity != model.identity);
    models.iter().enumerate().filter(move |one| is_first(one)).map(|(_, model)| model)
}

/// Returns the size of all files, in bytes.
pub(super) fn total_bytes(models: &[PolicyModel]) -> u64 {
    files(models).map(|model| model.bytes).fold(0, u64::saturating_add)
}

/// Prepares models for a process.
pub(super) fn read_ahead(models: &[PolicyModel]) -> Result<(), Error> {
    if models.len() > MAX_FORK_FILES {
        return Err(Error::other("the policy has too many models"));
    }
    files(models).try_for_each(PolicyModel::read_ahead)
}

/// Returns the path of a model whose file was removed or replaced.
pub(super) fn removed(models: &[PolicyModel]) -> Option<PathBuf> {
    models.iter().find(|model| !model.is_there()).map(|model| model.host.clone())
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

    #[test]
    fn a_file_at_several_paths_counts_once() {
        let files = [0, 1].map(|_| tempfile::NamedTempFile::new().expect("a file"));
        files.iter().for_each(|file| file.as_file().set_len(5).expect("a length"));
        let models: Vec<_> = (0..6)
            .map(|index| PolicyModel::new(&format!("net-{index}"), files[index % 2].path()).expect("a model"))
            .collect();
        assert_eq!(total_bytes(&models), 10);
    }
}
