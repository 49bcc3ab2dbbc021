//! Whether storage works: whether the disk of the data folder has room, the database can be read and written, and files can be
//! stored. Whoever finds out says so here, and the log gets one line when something begins to fail, with what to do about it,
//! and one when that is over. What fails because of it (requests, shards, retries) is logged for debugging only.
//!
//! Both lines are warnings or errors: who reads the first at the usual level of the log has to find the second there too.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

use crate::{DatabaseProblem, StoreError, is_disk_full};

const MIB: u64 = 1 << 20;
/// Less free space than this is a full disk, whatever the settings say.
const LEAST_FREE_BYTES: u64 = MIB;
/// A disk has room again when it had some for this long: what began while it was full may still fail.
const ROOM_AGAIN: Duration = Duration::from_secs(10);

/// What can fail, a bit each.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum StorageComponent {
    Disk = 1,
    Commits = 2,
    Reads = 4,
    Checkpoints = 8,
    Reserve = 16,
    Files = 32,
}

/// The state of storage; shared by all its clones.
#[derive(Debug, Clone)]
pub struct StorageHealth(Arc<HealthState>);

#[derive(Debug)]
struct HealthState {
    /// The data folder.
    folder: PathBuf,
    /// What is to stay free of its disk.
    min_free_bytes: AtomicU64,
    /// The [`StorageComponent`]s that fail.
    failing: AtomicU8,
    /// Since when a disk that was full has room.
    room_since: Mutex<Option<Instant>>,
}

impl StorageHealth {
    /// Of the data folder `folder`, of which nothing is known to fail.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self(Arc::new(HealthState {
            folder: folder.to_owned(),
            min_free_bytes: AtomicU64::new(LEAST_FREE_BYTES),
            failing: AtomicU8::new(0),
            room_since: Mutex::default(),
        }))
    }

    /// From now on the disk counts as full with less than `bytes` of free space.
    pub fn keep_free(&self, bytes: u64) {
        self.0.min_free_bytes.store(bytes.max(LEAST_FREE_BYTES), Ordering::Relaxed);
    }

    /// Measures the free space of the data folder's disk. To be called now and then, so that the log tells in time of a disk
    /// that is full, or has room again.
    ///
    /// # Errors
    /// The system does not say.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let found = statvfs(&self.0.folder)?;
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        let least = self.0.min_free_bytes.load(Ordering::Relaxed);
        let (folder, free_mib, min_free_mib) = (self.0.folder.display(), free / MIB, least.div_ceil(MIB));
        let mut room_since = self.0.room_since.lock().unwrap_or_else(PoisonError::into_inner);
        if free < least {
            *room_since = None;
            if self.begins(StorageComponent::Disk) {
                tracing::warn!(
                    %folder, free_mib, min_free_mib,
                    "the disk is nearly full: uploads are rejected, and episodes wait, until space is freed; delete other \
                     files on it or jobs, or set [retention]; no restart is needed"
                );
            }
        } else if self.fails(StorageComponent::Disk)
            && room_since.get_or_insert_with(Instant::now).elapsed() >= ROOM_AGAIN
            && self.ends(StorageComponent::Disk)
        {
            tracing::warn!(%folder, free_mib, min_free_mib, "the disk has room again");
        }
        Ok(free)
    }

    /// A file could not be stored, or read where it should be, because of `why`.
    pub fn files_failed(&self, why: &str) {
        // That explains it, and was told.
        let is_known = || self.fails(StorageComponent::Disk) || self.fails(StorageComponent::Commits);
        if is_known() || (self.free_bytes().is_ok() && is_known()) || !self.begins(StorageComponent::Files) {
            tracing::debug!(error = why, "files can't be stored");
            return;
        }
        tracing::error!(
            error = why, folder = %self.0.folder.display(),
            "files can't be stored: what needs them waits, and nothing is counted against its job; see to it that this user \
             can write to the data folder and to the folder of temporary files (TMPDIR), and that their disks have room"
        );
    }

    /// A file was stored.
    pub fn files_work(&self) {
        if self.ends(StorageComponent::Files) {
            tracing::warn!("files are stored again");
        }
    }

    /// The database could not be written.
    pub(crate) fn commits_failed(&self, error: &StoreError) {
        if self.begins(StorageComponent::Commits) {
            // Where that is the cause, it is told first.
            self.is_of_the_disk(error);
            let remedy = remedy(error);
            tracing::error!(
                error = %error.with_cause(),
                "the database can't be written: requests that change something are answered 503, and episodes wait; {remedy}"
            );
        }
    }

    /// Something was committed.
    pub(crate) fn commits_work(&self) {
        if self.ends(StorageComponent::Commits) {
            tracing::warn!("the database can be written again");
        }
    }

    /// The database could not be read.
    pub(crate) fn reads_failed(&self, error: &StoreError) {
        if self.begins(StorageComponent::Reads) {
            tracing::error!(error = %error.with_cause(), "the database can't be read; {}", remedy(error));
        }
    }

    /// Something was read.
    pub(crate) fn reads_work(&self) {
        if self.ends(StorageComponent::Reads) {
            tracing::warn!("the database can be read again");
        }
    }

    /// The log of the database could not be moved into it.
    pub(crate) fn checkpoint_failed(&self, error: &StoreError) {
        if self.is_of_the_disk(error) || !self.begins(StorageComponent::Checkpoints) {
            tracing::debug!(error = %error.with_cause(), "a checkpoint failed");
            return;
        }
        tracing::warn!(
            error = %error.with_cause(),
            "a checkpoint of the database failed: its log grows until one succeeds; check the disk of the data folder"
        );
    }

    /// A checkpoint was made.
    pub(crate) fn checkpoints_work(&self) {
        if self.ends(StorageComponent::Checkpoints) {
            tracing::warn!("checkpoints of the database succeed again");
        }
    }

    /// The records' space on the disk could not be held.
    pub(crate) fn reserve_failed(&self, error: &io::Error) {
        if self.is_of_the_disk(error) || !self.begins(StorageComponent::Reserve) {
            tracing::debug!(%error, "the records' reserve of disk space can't be held");
            return;
        }
        tracing::warn!(
            %error,
            "the records' reserve of disk space can't be held, and is tried for again: free space on the disk of the data \
             folder, or lower limits.disk.records_reserve_mib"
        );
    }

    /// All of the records' space is held.
    pub(crate) fn reserve_held(&self) {
        if self.ends(StorageComponent::Reserve) {
            tracing::warn!("the records hold their reserve of disk space again");
        }
    }

    /// Whether `error` comes from a full disk that was told of.
    fn is_of_the_disk(&self, error: &(dyn std::error::Error + 'static)) -> bool {
        is_disk_full(error) && self.free_bytes().is_ok() && self.fails(StorageComponent::Disk)
    }

    fn fails(&self, part: StorageComponent) -> bool {
        self.0.failing.load(Ordering::Relaxed) & part as u8 != 0
    }

    /// Notes that `part` fails; whether that is new.
    fn begins(&self, part: StorageComponent) -> bool {
        self.0.failing.fetch_or(part as u8, Ordering::Relaxed) & part as u8 == 0
    }

    /// Notes that `part` works; whether that is new. Nearly always it is not, and costs a look.
    fn ends(&self, part: StorageComponent) -> bool {
        self.fails(part) && self.0.failing.fetch_and(!(part as u8), Ordering::Relaxed) & part as u8 != 0
    }
}

/// What to do about a database that can't be used.
fn remedy(error: &StoreError) -> &'static str {
    if is_disk_full(error) {
        return "free space on the disk of the data folder; no restart is needed";
    }
    match error {
        StoreError::Database { problem: DatabaseProblem::Busy, .. } => {
            "end the other process that uses assay.db in the data folder"
        }
        _ => {
            "check the disk, and whether this user can write to assay.db in the data folder; docs/operations.md tells how to restore a backup"
        }
    }
}
