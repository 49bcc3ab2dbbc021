//! A tree of files of the host, and its digest over all that a copy of it contains: names, kinds and content.

use std::collections::HashMap;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use assay_model::{Sha256Digest, Sha256Writer};
use rustix::fs::OFlags;

use crate::reachable::{MAX_ENTRIES, OTHERS_ENTER, OTHERS_READ, StageError};

/// Number of bytes copied at once.
const CHUNK_BYTES: usize = 256 * 1024;
/// Maximum number of trees whose digest is remembered.
const MAX_KNOWN: usize = 256;
/// Seconds since its last change after which a file's times change with its content: they have the kernel's coarse
/// resolution.
const SETTLED_S: i64 = 2;
/// Permission of anyone to execute.
const EXECUTE: u32 = 0o111;

/// Digests of this process's trees, by path, with the state that they belong to.
static KNOWN: Mutex<Option<HashMap<PathBuf, (Sha256Digest, Sha256Digest)>>> = Mutex::new(None);

/// Names below a path (and the path itself, as ""), folders before their content.
pub(crate) struct Tree {
    entries: Vec<PathBuf>,
    /// True if every user may read all of it.
    pub(crate) is_open: bool,
    /// Total size of all files.
    pub(crate) bytes: u64,
    /// Identifies the files and their times of change, which the owner of a file cannot set.
    state: Sha256Digest,
    /// Time of the last change, in seconds since 1970.
    changed_s: i64,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self, StageError> {
        let failed = |at: &Path, source| StageError::Io { from: root.to_owned(), at: at.to_owned(), source };
        let (mut entries, mut is_open, mut bytes, mut changed_s) = (Vec::new(), true, 0, i64::MIN);
        let mut state = Sha256Writer::default();
        let mut open = vec![PathBuf::new()];
        while let Some(name) = open.pop() {
            let path = at(root, &name);
            let about = path.symlink_metadata().map_err(|e| failed(&path, e))?;
            let needed = if about.is_dir() { OTHERS_READ | OTHERS_ENTER } else { OTHERS_READ };
            bytes += if about.is_file() { about.len() } else { 0 };
            is_open &= about.is_symlink() || about.mode() & needed == needed;
            changed_s = changed_s.max(about.ctime());
            state.update(state_of(&name, &about));
            if about.is_dir() {
                let mut names = Vec::new();
                for entry in std::fs::read_dir(&path).map_err(|e| failed(&path, e))? {
                    names.push(name.join(entry.map_err(|e| failed(&path, e))?.file_name()));
                }
                names.sort_unstable_by(|a, b| b.cmp(a));
                open.extend(names);
            }
            entries.push(name);
            if entries.len() > MAX_ENTRIES {
                return Err(StageError::TooMany { from: root.to_owned() });
            }
        }
        Ok(Self { entries, is_open, bytes, state: state.finish(), changed_s })
    }

    /// Returns the digest of the tree's content. It is read once for each state of the tree in this process.
    pub(crate) fn digest(&self, root: &Path) -> Result<Sha256Digest, StageError> {
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(state, digest): &(Sha256Digest, Sha256Digest)| (*state == self.state).then_some(*digest);
        if let Some(digest) = known().as_ref().and_then(|known| known.get(root).and_then(same)) {
            return Ok(digest);
        }
        let digest = self.transfer(root, None)?;
        if self.is_settled() {
            let mut known = known();
            let known = known.get_or_insert_default();
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            known.insert(root.to_owned(), (self.state, digest));
        }
        Ok(digest)
    }

    /// Returns the name of the tree's state: of its files and their times of change once these are settled, since
    /// whoever may write the files cannot set those; before, the digest of its content. It costs no reading of the
    /// files.
    pub(crate) fn key(&self, root: &Path) -> Result<String, StageError> {
        match self.is_settled() {
            true => Ok(format!("s{}", self.state)),
            false => Ok(self.digest(root)?.to_string()),
        }
    }

    /// Returns true if any later change shows in the times of change.
    fn is_settled(&self) -> bool {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
        self.changed_s.saturating_add(SETTLED_S) < now
    }

    /// Returns true if the tree at `root` still has this state.
    pub(crate) fn is_unchanged(&self, root: &Path) -> Result<bool, StageError> {
        Ok(Self::read(root)?.state == self.state)
    }

    /// Copies the tree to a path that does not exist yet, and returns the digest of what was written.
    pub(crate) fn copy(&self, root: &Path, target: &Path) -> Result<Sha256Digest, StageError> {
        self.transfer(root, Some(target))
    }

    fn transfer(&self, root: &Path, target: Option<&Path>) -> Result<Sha256Digest, StageError> {
        let mut hash = Sha256Writer::default();
        for name in &self.entries {
            let from = at(root, name);
            let to = target.map(|target| at(target, name));
            let failed = |source| StageError::Io { from: root.to_owned(), at: from.clone(), source };
            transfer_one(name, &from, to.as_deref(), &mut hash).map_err(failed)?;
        }
        Ok(hash.finish())
    }
}

fn at(root: &Path, name: &Path) -> PathBuf {
    // Joining "" would add a slash, which a file must not have.
    if name.as_os_str().is_empty() { root.to_owned() } else { root.join(name) }
}

fn state_of(name: &Path, about: &Metadata) -> String {
    let times = (about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec());
    format!("{}\0{}\0{}\0{}\0{}\0{times:?}\0", name.display(), about.dev(), about.ino(), about.mode(), about.len())
}

/// Adds an entry to `hash`, and copies it to `to`.
fn transfer_one(name: &Path, from: &Path, to: Option<&Path>, hash: &mut Sha256Writer) -> io::Result<()> {
    let about = from.symlink_metadata()?;
    let mut head = |kind: &[u8], length: u64| {
        let name = name.as_os_str().as_bytes();
        hash.update(kind);
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(length.to_le_bytes());
    };
    if about.is_symlink() {
        let link = std::fs::read_link(from)?;
        head(b"link", link.as_os_str().len() as u64);
        hash.update(link.as_os_str().as_bytes());
        return to.map_or(Ok(()), |to| std::os::unix::fs::symlink(link, to));
    }
    if about.is_dir() {
        head(b"folder", 0);
        return to.map_or(Ok(()), |to| {
            std::fs::create_dir(to)?;
            std::fs::set_permissions(to, Permissions::from_mode(0o755))
        });
    }
    let neither = || io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file, a folder nor a link");
    if !about.is_file() {
        return Err(neither());
    }
    // Not to follow a link that replaced the file since, and not to wait for the writer of a pipe.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(from)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(neither());
    }
    let is_program = about.mode() & EXECUTE != 0;
    head(if is_program { b"program" } else { b"file" }, about.len());
    let mut copy = to.map(|to| OpenOptions::new().write(true).create_new(true).open(to)).transpose()?;
    transfer_content(&mut file, copy.as_mut(), hash)?;
    let Some(copy) = copy else { return Ok(()) };
    // Read-only even for the owner, which may be the user of the jails.
    copy.set_permissions(Permissions::from_mode(if is_program { 0o555 } else { 0o444 }))
}

fn transfer_content(file: &mut File, mut copy: Option<&mut File>, hash: &mut Sha256Writer) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        hash.update(&chunk[..count]);
        if let Some(copy) = &mut copy {
            copy.write_all(&chunk[..count])?;
        }
    }
}
