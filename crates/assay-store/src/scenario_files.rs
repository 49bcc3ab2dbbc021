//! The files of scenario versions that jobs may need: published and installed ones. Each version has a folder,
//! `DATA/scenarios/<digest>/`, and beside it a folder of its robots, `<digest>.robots/`, and its picture,
//! `<digest>.png`. A folder gets its name only when it is complete and durable, and never changes; the records list the
//! valid ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use assay_model::Sha256Digest;

/// Prefix of the name of an unfinished folder.
const UNFINISHED: &str = ".new-";
/// Maximum depth of folders in a scenario.
const MAX_DEPTH: usize = 16;
/// Extensions of the names of a version's robots and picture.
const ROBOTS: &str = "robots";
const PICTURE: &str = "png";

/// The files of a version.
#[derive(Debug, Clone, Copy)]
pub struct VersionSource<'a> {
    /// The scenario's folder.
    pub scenario: &'a Path,
    /// The folder of each robot it uses, by the robot's id.
    pub robots: &'a BTreeMap<&'a str, &'a Path>,
    /// Its picture, a PNG.
    pub picture: Option<&'a [u8]>,
}

/// The folder of scenario versions.
#[derive(Debug, Clone)]
pub struct ScenarioFiles(PathBuf);

impl ScenarioFiles {
    /// Opens the versions in `folder`, creating it with mode 0700 if needed.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn folder(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self(folder.to_owned()))
    }

    /// Stores a copy of a version, which is durable when this returns.
    ///
    /// # Errors
    /// The files cannot be written; unfinished ones are removed by the next [`ScenarioFiles::sweep`].
    pub fn keep(&self, digest: Sha256Digest, source: VersionSource<'_>) -> io::Result<()> {
        let target = self.named(digest);
        let fresh = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.0)?;
        let (scenario, robots) = (fresh.path().join("scenario"), fresh.path().join("robots"));
        copy(source.scenario, &scenario, 0)?;
        new_folder(&robots)?;
        for (id, folder) in source.robots {
            copy(folder, &robots.join(id), 0)?;
        }
        File::open(&robots)?.sync_all()?;
        if let Some(picture) = source.picture {
            let path = fresh.path().join("picture");
            fs::write(&path, picture)?;
            File::open(&path)?.sync_all()?;
            fs::rename(path, target.with_extension(PICTURE))?;
        }
        place(&robots, &target.with_extension(ROBOTS))?;
        place(&scenario, &target)?;
        File::open(&self.0)?.sync_all()
    }

    /// Returns the folder of a version, if it is stored here.
    #[must_use]
    pub fn scenario(&self, digest: Sha256Digest) -> Option<PathBuf> {
        Some(self.named(digest)).filter(|path| path.is_dir())
    }

    /// Returns the folder of its robots. Versions published with release 0.1 have none.
    #[must_use]
    pub fn robots(&self, digest: Sha256Digest) -> Option<PathBuf> {
        Some(self.named(digest).with_extension(ROBOTS)).filter(|path| path.is_dir())
    }

    /// Returns the path of its picture, if there is one.
    #[must_use]
    pub fn picture(&self, digest: Sha256Digest) -> Option<PathBuf> {
        Some(self.named(digest).with_extension(PICTURE)).filter(|path| path.is_file())
    }

    /// Removes everything that belongs to none of the `known` digests, such as leftovers of a killed server. Called at
    /// start, by the holder of the data folder.
    ///
    /// # Errors
    /// A file cannot be read or removed.
    pub fn sweep(&self, known: &BTreeSet<Sha256Digest>) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if stem.parse().is_ok_and(|digest| known.contains(&digest)) {
                continue;
            }
            tracing::info!(name = stem, "removing scenario files without a record");
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
        Ok(())
    }

    fn named(&self, digest: Sha256Digest) -> PathBuf {
        self.0.join(digest.to_string())
    }
}

/// Renames a finished folder. The same files may already exist.
fn place(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(_) if to.is_dir() => Ok(()),
        other => other,
    }
}

fn new_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().create(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o755))
}

/// Copies files and folders, readable for the jail's user, and makes them durable.
fn copy(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("the folders are nested too deeply"));
    }
    new_folder(to)?;
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
    fn files_are_kept_completely_until_they_are_swept() {
        let data = tempfile::tempdir().unwrap();
        let from = data.path().join("from");
        fs::create_dir_all(from.join("meshes")).unwrap();
        fs::write(from.join("scenario.toml"), "a").unwrap();
        fs::write(from.join("meshes/m.stl"), "b").unwrap();
        let robot = data.path().join("arm");
        fs::create_dir(&robot).unwrap();
        fs::write(robot.join("robot.toml"), "c").unwrap();
        let (robots, none) = (BTreeMap::from([("arm", robot.as_path())]), BTreeMap::new());
        let files = ScenarioFiles::folder(&data.path().join("scenarios")).unwrap();
        let (one, two) = (Sha256Digest::of("one"), Sha256Digest::of("two"));
        assert_eq!(files.scenario(one), None);
        for _ in 0..2 {
            files.keep(one, VersionSource { scenario: &from, robots: &robots, picture: Some(b"png") }).unwrap();
        }
        let plain = VersionSource { scenario: &from, robots: &none, picture: None };
        files.keep(two, plain).unwrap();
        let kept = files.scenario(one).unwrap();
        assert_eq!(fs::read(kept.join("meshes/m.stl")).unwrap(), b"b");
        assert_eq!(fs::read(files.robots(one).unwrap().join("arm/robot.toml")).unwrap(), b"c");
        assert_eq!(fs::read_dir(files.robots(two).unwrap()).unwrap().count(), 0);
        assert_eq!(fs::read(files.picture(one).unwrap()).unwrap(), b"png");
        assert_eq!(files.picture(two), None);
        assert_eq!(fs::metadata(kept.join("meshes")).unwrap().permissions().mode() & 0o777, 0o755);
        fs::create_dir(data.path().join("scenarios/.new-left")).unwrap();
        files.sweep(&BTreeSet::from([one])).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(data.path().join("scenarios")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["", ".png", ".robots"].map(|end| std::ffi::OsString::from(format!("{one}{end}"))));
    }
}
