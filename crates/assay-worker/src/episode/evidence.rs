//! Copies evidence out of a jail's scratch folder. Its contents were written by an untrusted process: a link or a pipe
//! in place of a file must not redirect or block the copy.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use assay_jail::UntrustedFolder;
use assay_model::Artifact;

/// Folder of episodes in a job's folder.
const EPISODES: &str = "episodes";
/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;

/// Returns the path of an episode's folder, relative to its job's.
pub(crate) fn folder_of(episode: u32) -> String {
    format!("{EPISODES}/{episode:03}")
}

/// Copies the regular file `scratch/folder/name` to `to/name` (`folder` may be `.`), creates `to`, and returns the
/// artifact.
///
/// # Errors
/// The entry is not a regular file of at most [`MAX_FILE_BYTES`], or the copy fails.
pub(crate) fn take(scratch: &Path, folder: &str, name: &str, to: &Path) -> io::Result<Artifact> {
    let from = UntrustedFolder::open(scratch)?.folder(folder)?;
    // A jail may write a file of any size.
    if from.file(name)?.metadata()?.len() > MAX_FILE_BYTES {
        let problem = format!("{name} is larger than {MAX_FILE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    fs::create_dir_all(to)?;
    put(&from, name, &UntrustedFolder::open(to)?)
}

/// Copies the regular file `name` from one folder to another, and returns the artifact.
///
/// # Errors
/// It is not a regular file, or the copy fails.
pub(crate) fn put(from: &UntrustedFolder, name: &str, to: &UntrustedFolder) -> io::Result<Artifact> {
    let mut copy = to.create(name)?;
    let (sha256, size_bytes) = from.copy_to(name, &mut copy)?;
    copy.finish()?;
    Ok(Artifact { name: name.to_owned(), sha256, size_bytes })
}

/// Removes an episode's folder from the folder `job`, if it exists.
///
/// # Errors
/// The folder cannot be removed.
pub(crate) fn forget(job: &Path, episode: u32) -> io::Result<()> {
    match fs::remove_dir_all(job.join(folder_of(episode))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads the first `limit` bytes of the regular file `scratch/name`.
pub(crate) fn read(scratch: &Path, name: &str, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    UntrustedFolder::open(scratch)?.file(name)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::{Artifact, take};
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_are_taken() {
        let scratch = tempfile::tempdir().unwrap();
        let to = tempfile::tempdir().unwrap();
        let secret = tempfile::NamedTempFile::new().unwrap();
        let folder = scratch.path().join("000");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("good"), b"evidence").unwrap();
        symlink(secret.path(), folder.join("link")).unwrap();
        symlink(secret.path().parent().unwrap(), scratch.path().join("001")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("pipe"), 0o600.into()).unwrap();
        let taken = take(scratch.path(), "000", "good", to.path()).unwrap();
        // printf evidence | sha256sum
        let sha256 = "ee8250fb76e094b34b471f13a73dbbe51d1ae142e9df59d7c0d31ec20f0a0a8e";
        assert_eq!(taken, Artifact { name: "good".into(), sha256: sha256.parse().unwrap(), size_bytes: 8 });
        assert_eq!(fs::read(to.path().join("good")).unwrap(), b"evidence");
        let name = secret.path().file_name().unwrap().to_str().unwrap();
        for (folder, name) in
            [("000", "link"), ("000", "pipe"), ("000", "absent"), ("001", name), ("000", "../000/link")]
        {
            assert!(take(scratch.path(), folder, name, to.path()).is_err(), "{folder}/{name}");
        }
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 1);
    }
}
