//! Copies evidence out of a jail's scratch folder. Its contents were written by an untrusted process: a link or a pipe
//! in place of a file must not redirect or block the copy.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use assay_model::{Artifact, Sha256Writer};
use rustix::fs::{Mode, OFlags, openat};

/// Folder of episodes in a job's folder.
const EPISODES: &str = "episodes";
/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;
/// Number of bytes copied at once.
const CHUNK_BYTES: usize = 256 * 1024;
/// Flags that never follow a link and never block on a pipe.
const SAFE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

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
    let file = open(scratch, folder, name)?;
    fs::create_dir_all(to)?;
    let mut copy = Copy { file: File::create(to.join(name))?, hash: Sha256Writer::default() };
    let size_bytes = io::copy(&mut BufReader::with_capacity(CHUNK_BYTES, file), &mut copy)?;
    let sha256 = copy.hash.finish();
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

/// Reads the regular file `scratch/name` of at most `limit` bytes.
pub(crate) fn read(scratch: &Path, name: &str, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(scratch, ".", name)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A writer that also hashes the content.
struct Copy {
    file: File,
    hash: Sha256Writer,
}

impl Write for Copy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Opens a regular file for reading, up to [`MAX_FILE_BYTES`].
fn open(scratch: &Path, folder: &str, name: &str) -> io::Result<io::Take<File>> {
    let scratch = openat(rustix::fs::CWD, scratch, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let folder = openat(&scratch, folder, SAFE | OFlags::DIRECTORY, Mode::empty())?;
    let file = File::from(openat(&folder, name, SAFE, Mode::empty())?);
    let about = file.metadata()?;
    if !about.is_file() || about.len() > MAX_FILE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{name} is not a regular file of at most {MAX_FILE_BYTES} bytes"),
        ));
    }
    Ok(file.take(MAX_FILE_BYTES))
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
