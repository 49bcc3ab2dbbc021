//! The files of scenarios that accounts published: a folder a digest, `DATA/scenarios/<digest>/`, and beside it the picture
//! that we drew, `<digest>.png`. A folder has its name only when all of it is on the disk, and never changes; which ones
//! count stands in the records.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// How the name of something unfinished begins.
const UNFINISHED: &str = ".new-";
/// Deepest folder of a scenario.
const MAX_DEPTH: usize = 16;

/// The folder of published scenarios.
#[derive(Debug, Clone)]
pub struct PublishedFiles(PathBuf);

impl PublishedFiles {
    /// The scenarios in `folder`, which is made, with mode 0700.
    ///
    /// # Errors
    /// There can be no such folder.
    pub fn folder(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self(folder.to_owned()))
    }

    /// Keeps a copy of the files in `from`, and the picture; both are on the disk when this returns.
    ///
    /// # Errors
    /// They can't be written; what is half written is removed by the next [`PublishedFiles::sweep`].
    pub fn keep(&self, digest: &str, from: &Path, picture: Option<&[u8]>) -> io::Result<()> {
        let target = self.named(digest)?;
        let fresh = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.0)?;
        let inside = fresh.path().join("scenario");
        copy(from, &inside, 0)?;
        if let Some(picture) = picture {
            let path = fresh.path().join("picture");
            fs::write(&path, picture)?;
            File::open(&path)?.sync_all()?;
            fs::rename(path, target.with_extension("png"))?;
        }
        match fs::rename(&inside, &target) {
            // Somebody published the same files before.
            Err(_) if target.is_dir() => {}
            other => other?,
        }
        File::open(&self.0)?.sync_all()
    }

    /// Where the files of a version are, if they are here.
    #[must_use]
    pub fn scenario(&self, digest: &str) -> Option<PathBuf> {
        self.named(digest).ok().filter(|path| path.is_dir())
    }

    /// Where its picture is, if there is one.
    #[must_use]
    pub fn picture(&self, digest: &str) -> Option<PathBuf> {
        self.named(digest).ok().map(|path| path.with_extension("png")).filter(|path| path.is_file())
    }

    /// Removes everything that belongs to none of the `known` digests: what a killed server left. To be called at start,
    /// by the holder of the data folder.
    ///
    /// # Errors
    /// Something can't be read or removed.
    pub fn sweep(&self, known: &BTreeSet<String>) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if known.contains(&stem) {
                continue;
            }
            tracing::info!(name = stem, "removing files of a scenario that was not published");
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
        Ok(())
    }

    /// A digest is a name of ours, and nothing else is.
    fn named(&self, digest: &str) -> io::Result<PathBuf> {
        let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if digest.len() == 64 && digest.bytes().all(hexadecimal) {
            return Ok(self.0.join(digest));
        }
        Err(io::Error::other("not a SHA-256 in hexadecimal"))
    }
}

/// Copies files and folders, open for the jail's user, and waits until they are on the disk.
fn copy(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("folders nested too deep"));
    }
    DirBuilder::new().create(to)?;
    fs::set_permissions(to, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(from)? {
        let (entry, target) = entry.map(|entry| (entry.path(), to.join(entry.file_name())))?;
        if entry.symlink_metadata()?.is_dir() {
            copy(&entry, &target, depth + 1)?;
        } else {
            let (mut source, mut file) = (File::open(&entry)?, File::create_new(&target)?);
            io::copy(&mut source, &mut file)?;
            file.set_permissions(Permissions::from_mode(0o644))?;
            file.sync_all()?;
        }
    }
    File::open(to)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn files_are_kept_whole_until_they_are_swept() {
        let data = tempfile::tempdir().unwrap();
        let from = data.path().join("from");
        fs::create_dir_all(from.join("meshes")).unwrap();
        fs::write(from.join("scenario.toml"), "a").unwrap();
        fs::write(from.join("meshes/m.stl"), "b").unwrap();
        let files = PublishedFiles::folder(&data.path().join("scenarios")).unwrap();
        let (one, two) = ("a1".repeat(32), "b2".repeat(32));
        assert_eq!(files.scenario(&one), None);
        for _ in 0..2 {
            files.keep(&one, &from, Some(b"png")).unwrap();
        }
        files.keep(&two, &from, None).unwrap();
        let kept = files.scenario(&one).unwrap();
        assert_eq!(fs::read(kept.join("meshes/m.stl")).unwrap(), b"b");
        assert_eq!(fs::read(files.picture(&one).unwrap()).unwrap(), b"png");
        assert_eq!(files.picture(&two), None);
        assert_eq!(fs::metadata(kept.join("meshes")).unwrap().permissions().mode() & 0o777, 0o755);
        fs::create_dir(data.path().join("scenarios/.new-left")).unwrap();
        files.sweep(&BTreeSet::from([one.clone()])).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(data.path().join("scenarios")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [one.as_str(), &format!("{one}.png")]);
        for name in ["../x", "", "A1", &"g".repeat(64)] {
            assert!(files.keep(name, &from, None).is_err() && files.scenario(name).is_none(), "{name}");
        }
    }
}
