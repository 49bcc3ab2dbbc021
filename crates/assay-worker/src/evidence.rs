//! Taking evidence out of a jail's scratch folder. What lies there was written by a process that is not trusted: a link
//! or a pipe in the place of a file must not lead us elsewhere.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat};

/// The file that a lane writes for an episode.
pub(crate) const TRACE: &str = "trace.parquet";
/// The file that a renderer writes.
pub(crate) const VIDEO: &str = "video.mp4";
/// Largest file that is taken, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;
/// Never follow a link, never wait for a pipe's other end.
const SAFE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Copies the regular file `scratch/folder/name` to `to/name` (`folder` may be `.`) and makes `to`.
///
/// # Errors
/// Anything but a regular file of at most [`MAX_FILE_BYTES`].
pub(crate) fn take(scratch: &Path, folder: &str, name: &str, to: &Path) -> io::Result<()> {
    let scratch = openat(rustix::fs::CWD, scratch, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let folder = openat(&scratch, folder, SAFE | OFlags::DIRECTORY, Mode::empty())?;
    let file = File::from(openat(&folder, name, SAFE, Mode::empty())?);
    let about = file.metadata()?;
    if !about.is_file() || about.len() > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} is no file of a sensible size")));
    }
    fs::create_dir_all(to)?;
    let mut copy = File::create(to.join(name))?;
    io::copy(&mut file.take(MAX_FILE_BYTES), &mut copy)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::take;
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
        take(scratch.path(), "000", "good", to.path()).unwrap();
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
