//! The only opener of folders that others made: results folders, policies, a jail's scratch space. Their content may be
//! a link to a file of the user, a pipe that blocks its reader, or a device.
//!
//! The folder itself is opened once, by a path of the user's choice. Everything in it is opened relative to that, and
//! without following a link; only regular files are read, and files are created exclusively and then renamed, so that a
//! link in their place is replaced instead of followed.

use std::ffi::OsString;
use std::fs::{DirEntry, File, FileType};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::{Sha256Digest, Sha256Writer};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags};

/// Paths lead neither out of the folder nor through a link.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);
/// Number of bytes copied at once.
const CHUNK_BYTES: usize = 256 * 1024;
/// Maximum depth of folders that are listed.
const MAX_DEPTH: usize = 16;
/// Maximum number of attempts at a name for an incomplete file that does not exist yet.
const MAX_NAMES: u32 = 100;
/// Number of incomplete files created by this process.
static CREATED: AtomicU64 = AtomicU64::new(0);

/// An open folder whose content is not trusted.
#[derive(Debug)]
pub struct UntrustedFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl UntrustedFolder {
    /// Opens the folder at `path`, which the user chose: links on the way to it are followed.
    ///
    /// # Errors
    /// It does not exist, or is not a folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let folder = rustix::fs::openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { folder, path: path.to_owned() })
    }

    /// Returns its path, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the folder `inside`.
    ///
    /// # Errors
    /// There is none, or a link is in its place or on the way to it.
    pub fn folder(&self, inside: impl AsRef<Path>) -> io::Result<Self> {
        let (inside, flags) = (inside.as_ref(), OFlags::DIRECTORY | OFlags::CLOEXEC);
        let folder = rustix::fs::openat2(&self.folder, inside, flags, Mode::empty(), BENEATH);
        Ok(Self { folder: folder.map_err(|errno| self.explained(inside, errno))?, path: self.path.join(inside) })
    }

    /// Opens the folder `inside`, creating what is missing of it.
    ///
    /// # Errors
    /// The path is not plain names below this folder, something else has one of them, or this folder can't be written
    /// to.
    pub fn make_folder(&self, inside: &Path) -> io::Result<Self> {
        let mut place = self.folder(".")?;
        for part in inside.components() {
            let Component::Normal(name) = part else { return Err(self.refused(inside, "is not a plain path")) };
            match rustix::fs::mkdirat(&place.folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(self.explained(inside, errno)),
            }
            place = place.folder(name)?;
        }
        Ok(place)
    }

    /// Opens the regular file `inside` for reading.
    ///
    /// # Errors
    /// There is none; [`io::ErrorKind::InvalidInput`] if something else is in its place.
    pub fn file(&self, inside: impl AsRef<Path>) -> io::Result<File> {
        let inside = inside.as_ref();
        // Without opening it: opening a device may have effects, and opening a pipe lets its writer continue.
        let found = rustix::fs::openat2(&self.folder, inside, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), BENEATH);
        let found = File::from(found.map_err(|errno| self.explained(inside, errno))?);
        if !found.metadata()?.is_file() {
            return Err(self.refused(inside, "is not a regular file"));
        }
        // The same file again: another one may have its name by now.
        let again = format!("/proc/self/fd/{}", found.as_raw_fd());
        File::open(again)
    }

    /// Reads the regular file `inside`.
    ///
    /// # Errors
    /// As for [`Self::file`]; [`io::ErrorKind::FileTooLarge`] if it has more than `max_bytes`.
    pub fn read(&self, inside: impl AsRef<Path>, max_bytes: u64) -> io::Result<Vec<u8>> {
        let inside = inside.as_ref();
        let mut bytes = Vec::new();
        self.file(inside)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_bytes {
            let problem = format!("{} is larger than {max_bytes} bytes", self.path.join(inside).display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        Ok(bytes)
    }

    /// Returns the SHA-256 of the regular file `inside`.
    ///
    /// # Errors
    /// As for [`Self::file`].
    pub fn sha256(&self, inside: impl AsRef<Path>) -> io::Result<Sha256Digest> {
        self.copy_to(inside, &mut io::sink()).map(|(sha256, _)| sha256)
    }

    /// Copies the regular file `inside`, and returns the SHA-256 and the size of what was copied.
    ///
    /// # Errors
    /// As for [`Self::file`]; the copy can't be written.
    pub fn copy_to(&self, inside: impl AsRef<Path>, to: &mut dyn Write) -> io::Result<(Sha256Digest, u64)> {
        let (mut file, mut hash, mut size) = (self.file(inside)?, Sha256Writer::default(), 0);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let count = file.read(&mut chunk)?;
            if count == 0 {
                return Ok((hash.finish(), size));
            }
            hash.update(&chunk[..count]);
            to.write_all(&chunk[..count])?;
            size += count as u64;
        }
    }

    /// Returns the type of `inside` itself, without following a link; `None` if it does not exist or cannot be reached.
    #[must_use]
    pub fn kind(&self, inside: impl AsRef<Path>) -> Option<FileType> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // With this flag, a link in the last place is opened itself, unless links are forbidden altogether.
        let found = rustix::fs::openat2(&self.folder, inside.as_ref(), flags, Mode::empty(), ResolveFlags::BENEATH);
        Some(File::from(found.ok()?).metadata().ok()?.file_type())
    }

    /// Begins to write the file `name`, which appears, or replaces what has its name, when it is complete.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn create(&self, name: &str) -> io::Result<NewFile<'_>> {
        let mut tries = 0;
        loop {
            let number = CREATED.fetch_add(1, Ordering::Relaxed);
            let partial = format!(".{name}.{}.{number}.partial", std::process::id());
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(0o666);
            match rustix::fs::openat2(&self.folder, partial.as_str(), flags, mode, BENEATH) {
                Ok(file) => {
                    let file = File::from(file);
                    return Ok(NewFile { folder: self, file, partial, name: name.to_owned(), is_complete: false });
                }
                Err(rustix::io::Errno::EXIST) if tries < MAX_NAMES => tries += 1,
                Err(errno) => return Err(self.explained(Path::new(name), errno)),
            }
        }
    }

    /// Writes the file `name` at once.
    ///
    /// # Errors
    /// As for [`Self::create`].
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut file = self.create(name)?;
        file.write_all(content)?;
        file.finish()
    }

    /// Returns the names of everything in the folder `inside` that is not a folder, relative to this folder.
    ///
    /// # Errors
    /// A folder can't be read; there are more than `max_entries` entries, or folders are nested too deeply.
    pub fn list(&self, inside: &str, max_entries: usize) -> io::Result<Vec<String>> {
        let (mut names, mut open, mut count) = (Vec::new(), vec![(inside.to_owned(), 0)], 0);
        while let Some((place, depth)) = open.pop() {
            let folder = if place.is_empty() { Self::folder(self, ".")? } else { self.folder(&place)? };
            for (name, kind) in folder.entries()? {
                count += 1;
                if count > max_entries || depth >= MAX_DEPTH {
                    return Err(
                        self.refused(Path::new(inside), "has too many files, or its folders are nested too deeply")
                    );
                }
                let name = name.to_string_lossy();
                let name = if place.is_empty() { name.into_owned() } else { format!("{place}/{name}") };
                if kind.is_dir() { open.push((name, depth + 1)) } else { names.push(name) }
            }
        }
        Ok(names)
    }

    /// Returns the names and types of its entries.
    fn entries(&self) -> io::Result<Vec<(OsString, FileType)>> {
        let listed = std::fs::read_dir(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))?;
        let entry = |entry: io::Result<DirEntry>| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)));
        listed.map(entry).collect()
    }

    fn explained(&self, inside: &Path, errno: rustix::io::Errno) -> io::Error {
        match errno {
            rustix::io::Errno::LOOP => {
                self.refused(inside, "is a link, or leads through one; links are not followed here")
            }
            rustix::io::Errno::XDEV => self.refused(inside, "leads out of its folder"),
            errno => errno.into(),
        }
    }

    fn refused(&self, inside: &Path, problem: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{} {problem}", self.path.join(inside).display()))
    }
}

/// A file that is being written; removed when dropped before [`Self::finish`].
#[derive(Debug)]
pub struct NewFile<'a> {
    folder: &'a UntrustedFolder,
    file: File,
    partial: String,
    name: String,
    is_complete: bool,
}

impl NewFile<'_> {
    /// Gives the file its name. A link in its place is replaced.
    ///
    /// # Errors
    /// A folder has its name, or the folder cannot be written to.
    pub fn finish(mut self) -> io::Result<()> {
        let folder = &self.folder.folder;
        rustix::fs::renameat_with(folder, self.partial.as_str(), folder, self.name.as_str(), RenameFlags::empty())?;
        self.is_complete = true;
        Ok(())
    }
}

impl Write for NewFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = rustix::fs::unlinkat(&self.folder.folder, self.partial.as_str(), AtFlags::empty());
        }
    }
}

/// Reads the regular file at `path`, which may be in a folder that others made, as [`UntrustedFolder::read`] does.
///
/// # Errors
/// As for [`UntrustedFolder::read`].
pub fn read_untrusted(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
    let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file"))?;
    UntrustedFolder::open(folder)?.read(name, max_bytes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with everything that must not be opened, beside a file of the user.
    fn hostile() -> (tempfile::TempDir, PathBuf) {
        let work = tempfile::tempdir().unwrap();
        let (secret, folder) = (work.path().join("secret"), work.path().join("results"));
        fs::write(&secret, "the user's").unwrap();
        fs::create_dir_all(folder.join("a")).unwrap();
        fs::write(folder.join("a/file"), "x").unwrap();
        symlink("../secret", folder.join("link")).unwrap();
        symlink(&secret, folder.join("absolute")).unwrap();
        symlink("a", folder.join("b")).unwrap();
        symlink("nowhere", folder.join("dangling")).unwrap();
        symlink("a/file", folder.join("inner")).unwrap();
        fs::hard_link(folder.join("a/file"), folder.join("hard")).unwrap();
        rustix::fs::mkfifoat(CWD, folder.join("pipe"), Mode::RWXU).unwrap();
        drop(std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap());
        (work, folder)
    }

    #[test]
    fn only_regular_files_below_the_folder_are_read() {
        let (_work, path) = hostile();
        let folder = UntrustedFolder::open(&path).unwrap();
        assert_eq!(folder.read("a/file", 10).unwrap(), b"x");
        assert_eq!(folder.read("hard", 10).unwrap(), b"x");
        for bad in ["link", "absolute", "b/file", "dangling", "inner", "pipe", "socket", "a", "../secret", "a/none", ""]
        {
            assert!(folder.read(bad, 10).is_err(), "{bad}");
        }
        assert!(folder.folder("b").is_err() && folder.folder("..").is_err() && folder.folder("/").is_err());
        assert_eq!(folder.read("a/file", 0).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(folder.kind("pipe").is_some_and(|kind| !kind.is_file()));
        assert!(folder.kind("link").is_some_and(|kind| kind.is_symlink()));
        assert!(read_untrusted(&path.join("a/file"), 10).is_ok() && read_untrusted(&path.join("link"), 10).is_err());
    }

    #[test]
    fn folders_are_made_below_the_folder_only() {
        let (work, path) = hostile();
        let folder = UntrustedFolder::open(&path).unwrap();
        folder.make_folder(Path::new("a/b/c")).unwrap().write("file", b"x").unwrap();
        assert_eq!(folder.read("a/b/c/file", 10).unwrap(), b"x");
        assert!(folder.make_folder(Path::new("")).is_ok() && folder.make_folder(Path::new("a")).is_ok());
        for bad in ["../out", "/out", "a/../../out", "b/new", "link", "pipe/new", "a/file/new"] {
            assert!(folder.make_folder(Path::new(bad)).is_err(), "{bad}");
        }
        assert!(!work.path().join("out").exists() && !path.join("a/new").exists());
    }

    #[test]
    fn a_file_replaces_a_link_of_its_name_and_is_absent_until_it_is_complete() {
        let (work, path) = hostile();
        let folder = UntrustedFolder::open(&path).unwrap();
        for name in ["link", "absolute", "dangling", "pipe", "socket", "new", "hard"] {
            let mut file = folder.create(name).unwrap();
            file.write_all(b"ours").unwrap();
            let before = fs::read_dir(&path).unwrap().count();
            file.finish().unwrap();
            assert!(fs::read_dir(&path).unwrap().count() <= before, "an incomplete file was left");
            assert_eq!(folder.read(name, 10).unwrap(), b"ours", "{name}");
        }
        assert_eq!(fs::read_to_string(work.path().join("secret")).unwrap(), "the user's");
        assert_eq!(fs::read_to_string(path.join("a/file")).unwrap(), "x", "a hard link is replaced");
        assert!(!path.join("nowhere").exists());
        let names = fs::read_dir(&path).unwrap().count();
        drop(folder.create("abandoned").unwrap());
        assert_eq!(fs::read_dir(&path).unwrap().count(), names);
        for bad in ["b/new", "../new", "a/../../new"] {
            assert!(folder.create(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn folders_are_listed_without_following_links() {
        let (_work, path) = hostile();
        let folder = UntrustedFolder::open(&path).unwrap();
        let mut names = folder.list("", 100).unwrap();
        names.sort();
        assert_eq!(names, ["a/file", "absolute", "b", "dangling", "hard", "inner", "link", "pipe", "socket"]);
        assert_eq!(folder.list("a", 100).unwrap(), ["a/file"]);
        assert!(folder.list("", 3).is_err() && folder.list("b", 100).is_err());
    }
}
