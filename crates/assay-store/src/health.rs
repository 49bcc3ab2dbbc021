//! Health of storage: free disk space of the data folder, reads and writes of the database, storing of files.
//! Components report failures and successes here; the log gets one line when something begins to fail, with a remedy,
//! and one when it works again. Consequences (failing requests, shards, retries) are logged at the debug level only.
//!
//! Both lines are warnings or errors, so that both appear at the usual log level.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_model::ErrorChain;
use rustix::fs::statvfs;

use crate::{DatabaseProblem, StoreError, is_disk_full};

const MIB: u64 = 1 << 20;
/// Free space below which a disk counts as full, regardless of the settings.
const LEAST_FREE_BYTES: u64 = MIB;
/// Time for which a full disk must have had free space before it counts as usable again, since operations that began
/// while it was full may still fail.
const ROOM_AGAIN: Duration = Duration::from_secs(10);

/// A component that can fail, represented by one bit.
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
    /// True if the database belongs to a server, which may be on another machine.
    is_of_server: bool,
    /// Minimum free space of its disk, in bytes.
    min_free_bytes: AtomicU64,
    /// The [`StorageComponent`]s that are failing.
    failing: AtomicU8,
    /// Time at which a full disk was first seen with free space.
    room_since: Mutex<Option<Instant>>,
}

impl StorageHealth {
    /// Creates the state of the data folder `folder`, with no known failure.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self::with_database(folder, false)
    }

    /// Like [`Self::new`], for records in the database of a server instead of the data folder.
    #[must_use]
    pub fn of_server(folder: &Path) -> Self {
        Self::with_database(folder, true)
    }

    fn with_database(folder: &Path, is_of_server: bool) -> Self {
        Self(Arc::new(HealthState {
            folder: folder.to_owned(),
            is_of_server,
            min_free_bytes: AtomicU64::new(LEAST_FREE_BYTES),
            failing: AtomicU8::new(0),
            room_since: Mutex::default(),
        }))
    }

    /// Treats the disk as full if less than `bytes` are free.
    pub fn keep_free(&self, bytes: u64) {
        self.0.min_free_bytes.store(bytes.max(LEAST_FREE_BYTES), Ordering::Relaxed);
    }

    /// Measures the free space of the data folder's disk. Called periodically, so that the log reports in time that the
    /// disk is full or has room again.
    ///
    /// # Errors
    /// The system call failed.
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

    /// Reports that a file could not be stored or read because of `why`.
    pub fn files_failed(&self, why: impl Display) {
        // The failure is explained by one that was logged before.
        let is_known = || self.fails(StorageComponent::Disk) || self.fails(StorageComponent::Commits);
        if is_known() || (self.free_bytes().is_ok() && is_known()) || !self.begins(StorageComponent::Files) {
            tracing::debug!(error = %why, "could not store file");
            return;
        }
        tracing::error!(
            error = %why, folder = %self.0.folder.display(),
            "files cannot be stored: episodes wait, and nothing is counted against their jobs; make sure that this user can \
             write to the data folder and to the folder of temporary files (TMPDIR), and that their disks have room"
        );
    }

    /// Reports that a file was stored.
    pub fn files_work(&self) {
        if self.ends(StorageComponent::Files) {
            tracing::warn!("files are stored again");
        }
    }

    /// Reports that the database could not be written.
    pub(crate) fn commits_failed(&self, error: &StoreError) {
        if self.begins(StorageComponent::Commits) {
            // If a full disk is the cause, it is reported first.
            self.is_of_the_disk(error);
            let remedy = self.remedy(error);
            tracing::error!(
                error = %ErrorChain(error),
                "the database cannot be written: requests that change something are answered 503, and episodes wait; {remedy}"
            );
        }
    }

    /// Reports a commit.
    pub(crate) fn commits_work(&self) {
        if self.ends(StorageComponent::Commits) {
            tracing::warn!("the database can be written again");
        }
    }

    /// Reports that the database could not be read.
    pub(crate) fn reads_failed(&self, error: &StoreError) {
        if self.begins(StorageComponent::Reads) {
            tracing::error!(error = %ErrorChain(error), "the database cannot be read; {}", self.remedy(error));
        }
    }

    /// Reports a read.
    pub(crate) fn reads_work(&self) {
        if self.ends(StorageComponent::Reads) {
            tracing::warn!("the database can be read again");
        }
    }

    /// Reports that a checkpoint failed.
    pub(crate) fn checkpoint_failed(&self, error: &StoreError) {
        if self.is_of_the_disk(error) || !self.begins(StorageComponent::Checkpoints) {
            tracing::debug!(error = %ErrorChain(error), "database checkpoint failed");
            return;
        }
        tracing::warn!(
            error = %ErrorChain(error),
            "a checkpoint of the database failed: its log grows until one succeeds; check the disk of the data folder"
        );
    }

    /// Reports that a checkpoint succeeded.
    pub(crate) fn checkpoints_work(&self) {
        if self.ends(StorageComponent::Checkpoints) {
            tracing::warn!("checkpoints of the database succeed again");
        }
    }

    /// Reports that the records' disk space could not be reserved.
    pub(crate) fn reserve_failed(&self, error: &io::Error) {
        if self.is_of_the_disk(error) || !self.begins(StorageComponent::Reserve) {
            tracing::debug!(%error, "could not reserve disk space for records");
            return;
        }
        tracing::warn!(
            %error,
            "the records' disk space cannot be reserved, and is retried: free space on the disk of the data \
             folder, or lower limits.disk.records_reserve_mib"
        );
    }

    /// Reports that all of the records' space is reserved.
    pub(crate) fn reserve_held(&self) {
        if self.ends(StorageComponent::Reserve) {
            tracing::warn!("the records' disk space is reserved again");
        }
    }

    /// Returns true if `error` is due to a full disk, which has then been reported.
    fn is_of_the_disk(&self, error: &(dyn std::error::Error + 'static)) -> bool {
        is_disk_full(error) && !self.0.is_of_server && self.free_bytes().is_ok() && self.fails(StorageComponent::Disk)
    }

    fn fails(&self, part: StorageComponent) -> bool {
        self.0.failing.load(Ordering::Relaxed) & part as u8 != 0
    }

    /// Marks `part` as failing. Returns true if it was working before.
    fn begins(&self, part: StorageComponent) -> bool {
        self.0.failing.fetch_or(part as u8, Ordering::Relaxed) & part as u8 == 0
    }

    /// Marks `part` as working. Returns true if it was failing before; usually it was not, which costs a single load.
    fn ends(&self, part: StorageComponent) -> bool {
        self.fails(part) && self.0.failing.fetch_and(!(part as u8), Ordering::Relaxed) & part as u8 != 0
    }

    /// Returns the remedy for a database that cannot be used.
    fn remedy(&self, error: &StoreError) -> &'static str {
        let is_busy = matches!(error, StoreError::Database { problem: DatabaseProblem::Busy, .. });
        match (self.0.is_of_server, is_disk_full(error), is_busy) {
            (false, true, _) => "free space on the disk of the data folder; no restart is needed",
            (false, false, true) => "end the other process that uses assay.db in the data folder",
            (false, false, false) => {
                "check the disk, and whether this user can write to assay.db in the data folder; docs/operations.md explains how to restore a backup"
            }
            (true, true, _) => {
                "free space on the disk of the database server that store.url names; no restart is needed"
            }
            (true, false, true) => {
                "check that the database server that store.url names is running, reachable and not overloaded; no restart is needed"
            }
            (true, false, false) => {
                "check the log of the database server that store.url names, and the permissions of the user in store.url"
            }
        }
    }
}
