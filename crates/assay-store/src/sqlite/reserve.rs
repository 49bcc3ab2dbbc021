//! Reserves disk space for the records, so that they can commit when nothing else can be written: blocks allocated
//! beyond the end of their files, into which SQLite grows without further allocation. No other process can take them,
//! so there is nothing to release in an emergency and no race.
//!
//! The space lies behind the write-ahead log, to which every commit is written; the log's index gets the blocks for a
//! log of that length. None lies behind the database, because a checkpoint truncates that file to its length and would
//! free it. On a full disk the log is not moved, and grows.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FallocateFlags, fallocate};

/// Length to which the log is truncated when it restarts, in bytes.
pub(super) const MAX_LOG_BYTES: i64 = 64 << 20;
/// A page of the database, with its header in the log, in bytes (<https://sqlite.org/walformat.html>).
const FRAME_BYTES: u64 = 4096 + 24;
/// A block of the index of the log, in bytes, and the pages that it lists.
const INDEX_BLOCK: (u64, u64) = (32 << 10, 4062);

/// Number of bytes allocated at once.
const STEP_BYTES: u64 = 1 << 20;

/// The space reserved for one database.
#[derive(Debug)]
pub(super) struct Reserve {
    log: PathBuf,
    /// Stays open for as long as the process: closing any descriptor of this file ends all locks that SQLite holds on
    /// it.
    index: ManuallyDrop<File>,
    /// Number of bytes to reserve after the end of the log; 0 for none.
    bytes: AtomicU64,
    is_held: AtomicBool,
    held: Mutex<AllocatedEnds>,
}

/// End of the allocated blocks of each file, in bytes from its beginning.
#[derive(Debug, Default)]
struct AllocatedEnds {
    log: u64,
    index: u64,
}

impl Reserve {
    /// Creates the reserve of the open database `file`, still empty.
    pub(super) fn of(file: &Path) -> io::Result<Self> {
        let open = |path: &Path| File::options().read(true).write(true).open(path).map(ManuallyDrop::new);
        Ok(Self {
            log: beside(file, "-wal"),
            index: open(&beside(file, "-shm"))?,
            bytes: AtomicU64::new(0),
            is_held: AtomicBool::new(true),
            held: Mutex::default(),
        })
    }

    /// Sets the size of the reserve and allocates it.
    ///
    /// # Errors
    /// The disk has no room for it now, and [`Self::renew`] retries; or its file system cannot allocate space ahead.
    pub(super) fn hold(&self, bytes: u64) -> io::Result<()> {
        self.bytes.store(bytes, Ordering::SeqCst);
        self.renew()
    }

    /// Allocates the missing part of the reserve. Cheap if nothing is missing.
    ///
    /// # Errors
    /// As [`Self::hold`].
    pub(super) fn renew(&self) -> io::Result<()> {
        let bytes = self.bytes.load(Ordering::SeqCst);
        if bytes == 0 {
            return Ok(());
        }
        let held = self.allocate(bytes);
        if held.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Unsupported) {
            // File systems that do not support allocation are not tried again.
            self.bytes.store(0, Ordering::SeqCst);
            return held;
        }
        self.is_held.store(held.is_ok(), Ordering::SeqCst);
        held
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        // SQLite holds no locks on the log, so this descriptor may be closed.
        let log = File::options().write(true).open(&self.log)?;
        // What is written next may follow the log's end, and while something reads an old state of the records it has
        // to.
        let end = log.metadata()?.len() + bytes;
        let (block, pages) = INDEX_BLOCK;
        let index = (end / FRAME_BYTES).div_ceil(pages) * block;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        extend(&log, &mut held.log, end)?;
        extend(&self.index, &mut held.index, index)
    }

    /// Returns true if a reserve is configured. The log must then not be truncated, which would free its blocks.
    pub(super) fn is_wanted(&self) -> bool {
        self.bytes.load(Ordering::SeqCst) > 0
    }

    /// Returns true if the reserve was completely allocated at the last check.
    pub(super) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::SeqCst)
    }
}

/// Allocates the blocks of `file` from `held` to `end`, and notes how far it came. Step by step, and none of them
/// twice: where a call fails, some file systems (tmpfs) free all of its range, also what an earlier call has allocated
/// there.
fn extend(file: &File, held: &mut u64, end: u64) -> io::Result<()> {
    while *held < end {
        let step = STEP_BYTES.min(end - *held);
        fallocate(file, FallocateFlags::KEEP_SIZE, *held, step)?;
        *held += step;
    }
    Ok(())
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
