//! Makes files reachable for the jail's user. If this process is root, jails run as the user `nobody`, which cannot
//! enter a folder such as /root; the files are then copied, once, to a folder that this user can enter.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::Sha256Writer;

use crate::jail_uid;

const OTHERS_ENTER: u32 = 0o001;
const OTHERS_READ: u32 = 0o004;
/// Shifts the bits for others to those for the group.
const GROUP_SHIFT: u32 = 3;
/// Number of copies started by this process.
static COPIES: AtomicU64 = AtomicU64::new(0);
/// Maximum number of files in a tree to copy; the policy runtime has 1500.
const MAX_ENTRIES: usize = 50_000;

/// A path that the jail's user cannot reach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{at} is closed to other users, but root runs jails as uid 65534, who needs {path}; \
     move it to an open folder, or open it: chmod o+rX {at}"
)]
pub struct ClosedPath {
    /// The path that is needed.
    pub path: PathBuf,
    /// The folder or file that the user may not enter or read.
    pub at: PathBuf,
}

/// A failure to copy a tree for the jail's user.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Reading or writing failed.
    #[error("could not make a copy of {from} that jails can read: {at}")]
    Io {
        /// The original.
        from: PathBuf,
        /// The file at which it failed.
        at: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The tree has too many files.
    #[error("{from} has more than {MAX_ENTRIES} files, too many to copy for jails")]
    TooMany {
        /// The original.
        from: PathBuf,
    },
    /// The copy could not be reached either.
    #[error("the folder for copies that jails can read is not reachable either")]
    Closed(#[from] ClosedPath),
}

/// Checks that the jail's user can read `path` itself and enter every folder above it. (Files below it are not
/// checked.)
///
/// # Errors
/// [`ClosedPath`] names the first obstacle.
pub fn check_reachable(path: &Path) -> Result<(), ClosedPath> {
    let Some(uid) = jail_uid() else { return Ok(()) };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for folder in real.ancestors() {
        let Ok(about) = folder.metadata() else { continue };
        let needed = match (folder == real, about.is_dir()) {
            (true, true) => OTHERS_READ | OTHERS_ENTER,
            (true, false) => OTHERS_READ,
            (false, _) => OTHERS_ENTER,
        };
        // The jail's group id equals its user id.
        let needed = if about.gid() == uid { needed << GROUP_SHIFT } else { needed };
        if about.uid() != uid && about.mode() & needed != needed {
            return Err(ClosedPath { path: path.to_owned(), at: folder.to_owned() });
        }
    }
    Ok(())
}

/// Returns the folder for [`stage_readable`]'s copies, which other users can reach.
#[must_use]
pub fn default_cache_root() -> PathBuf {
    PathBuf::from("/var/cache/assay")
}

/// Changes the owner of a folder or file to the jail's user, so that a jail can write there.
///
/// # Errors
/// The owner cannot be changed.
pub fn give_to_jail(path: &Path) -> std::io::Result<()> {
    let Some(uid) = jail_uid() else { return Ok(()) };
    std::os::unix::fs::lchown(path, Some(uid), Some(uid))
}

/// Lets the jail's user read the file `path` and enter the folders above it, up to and including `root`; other users
/// gain nothing. The files' owner stays the same.
///
/// # Errors
/// A group or mode cannot be changed.
pub fn open_to_jail(path: &Path, root: &Path) -> std::io::Result<()> {
    let Some(group) = jail_uid() else { return Ok(()) };
    for place in path.ancestors().take_while(|place| place.starts_with(root)) {
        let about = place.symlink_metadata()?;
        let needed = (if about.is_dir() { OTHERS_ENTER } else { OTHERS_READ }) << GROUP_SHIFT;
        // Only the group of places that are closed to others is changed.
        let is_open = about.mode() & (needed >> GROUP_SHIFT) != 0;
        if !is_open && (about.gid() != group || about.mode() & needed == 0) {
            std::os::unix::fs::lchown(place, None, Some(group))?;
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(about.mode() & 0o700 | needed))?;
        }
    }
    Ok(())
}

/// Returns a path with the same content that the jail's user can read: `path` itself if all of it is open, otherwise a
/// copy below `cache_root`, made once for each state of the original (its names, sizes and times).
///
/// # Errors
/// [`StageError`] if it cannot be read or copied.
pub fn stage_readable(path: &Path, cache_root: &Path) -> Result<PathBuf, StageError> {
    if jail_uid().is_none() {
        return Ok(path.to_owned());
    }
    let tree = Tree::read(path)?;
    if tree.is_open && check_reachable(path).is_ok() {
        return Ok(path.to_owned());
    }
    let name = path.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
    let target = cache_root.join(format!("{name}-{}", tree.stamp));
    if !target.exists() {
        copy_into_place(path, &tree, &target)?;
    }
    check_reachable(&target)?;
    Ok(target)
}

/// Names below a path (and the path itself, as ""), folders before their content.
pub(crate) struct Tree {
    entries: Vec<PathBuf>,
    /// True if every user may read all of it.
    pub(crate) is_open: bool,
    /// Total size of all files.
    pub(crate) bytes: u64,
    /// Identifies a state of the tree.
    pub(crate) stamp: String,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self, StageError> {
        let failed = |at: &Path, source| StageError::Io { from: root.to_owned(), at: at.to_owned(), source };
        let (mut entries, mut is_open, mut bytes, mut hash) = (Vec::new(), true, 0, Sha256Writer::default());
        let mut open = vec![PathBuf::new()];
        while let Some(name) = open.pop() {
            let path = root.join(&name);
            let path = if name.as_os_str().is_empty() { root.to_owned() } else { path };
            let about = path.symlink_metadata().map_err(|e| failed(&path, e))?;
            let needed = if about.is_dir() { OTHERS_READ | OTHERS_ENTER } else { OTHERS_READ };
            bytes += if about.is_file() { about.len() } else { 0 };
            is_open &= about.is_symlink() || about.mode() & needed == needed;
            let line = format!("{}\0{}\0{}\0{}\0", name.display(), about.len(), about.mtime(), about.mtime_nsec());
            hash.update(if about.is_dir() { name.as_os_str().as_encoded_bytes() } else { line.as_bytes() });
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
        let stamp = format!("{:.16}", hash.finish());
        Ok(Self { entries, is_open, bytes, stamp })
    }
}

/// Copies to a folder next to the target and renames it, so that a copy is complete or absent even if others make the
/// same one.
fn copy_into_place(root: &Path, tree: &Tree, target: &Path) -> Result<(), StageError> {
    let failed = |at: &Path, source| StageError::Io { from: root.to_owned(), at: at.to_owned(), source };
    let folder = target.parent().unwrap_or(Path::new("/"));
    if !folder.exists() {
        std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
        // Set explicitly, since the umask may restrict it.
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).map_err(|e| failed(folder, e))?;
    }
    // Each copy has a unique name, because other processes and threads may make the same one.
    let number = COPIES.fetch_add(1, Ordering::Relaxed);
    let fresh = target.with_extension(format!("new.{}.{number}", std::process::id()));
    let placed = copy_tree(root, tree, &fresh).and_then(|()| match std::fs::rename(&fresh, target) {
        Err(error) if !target.exists() => Err(failed(target, error)),
        _ => Ok(()),
    });
    if fresh.symlink_metadata().is_ok() {
        // The copy failed, or another process was faster. A leftover folder only takes up space.
        drop(std::fs::remove_dir_all(&fresh).or_else(|_| std::fs::remove_file(&fresh)));
    }
    placed
}

/// Copies a tree to a path that does not exist yet.
pub(crate) fn copy_tree(root: &Path, tree: &Tree, target: &Path) -> Result<(), StageError> {
    tree.entries.iter().try_for_each(|name| {
        let at = |root: &Path| if name.as_os_str().is_empty() { root.to_owned() } else { root.join(name) };
        let failed = |source| StageError::Io { from: root.to_owned(), at: at(root), source };
        copy_one(&at(root), &at(target)).map_err(failed)
    })
}

fn copy_one(from: &Path, to: &Path) -> std::io::Result<()> {
    let about = from.symlink_metadata()?;
    if about.is_symlink() {
        return std::os::unix::fs::symlink(std::fs::read_link(from)?, to);
    }
    if about.is_dir() {
        std::fs::create_dir(to)?;
        return std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o755));
    }
    std::fs::copy(from, to)?;
    // Read-only even for the owner, which may be the user of the jails.
    let mode = if about.mode() & 0o111 == 0 { 0o444 } else { 0o555 };
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(mode))
}
