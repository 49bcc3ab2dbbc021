//! Locks in the data folder, which keep the servers of a site that share it from interfering with each other.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// The folder of the lock files in the data folder.
const LOCKS: &str = "locks";
/// Longest wait for a lock.
const WAIT: Duration = Duration::from_secs(20);
/// Interval at which a held lock is tried again.
const RETRY: Duration = Duration::from_millis(10);

/// The locks of a data folder; shared by all its clones. The default is for a process that shares its folder with no
/// other, and locks nothing.
#[derive(Debug, Clone, Default)]
pub struct FolderLocks(Option<Arc<Path>>);

/// A lock, held until dropped or until the process ends in any way.
#[derive(Debug)]
pub(crate) struct FolderLock {
    file: Option<File>,
    /// The lock file, if it is to be deleted.
    temporary: Option<PathBuf>,
}

impl FolderLocks {
    /// Creates the locks of a data folder that servers share.
    ///
    /// # Errors
    /// The folder of the locks cannot be created.
    pub fn shared(data: &Path) -> io::Result<Self> {
        let folder = data.join(LOCKS);
        std::fs::create_dir_all(&folder)?;
        Ok(Self(Some(folder.into())))
    }

    /// Locks `name` together with other holders of a shared lock.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] if it stays locked; others if the file cannot be used.
    pub(crate) async fn lock_shared(&self, name: &str) -> io::Result<FolderLock> {
        self.wait_for(name, FlockOperation::NonBlockingLockShared).await
    }

    /// Locks `name` alone.
    ///
    /// # Errors
    /// As [`Self::lock_shared`].
    pub(crate) async fn lock(&self, name: &str) -> io::Result<FolderLock> {
        self.wait_for(name, FlockOperation::NonBlockingLockExclusive).await
    }

    /// Locks `name` alone if it is free. Its file is deleted afterwards, so that there may be many names.
    ///
    /// # Errors
    /// The file cannot be used.
    pub(crate) fn try_lock(&self, name: &str) -> io::Result<Option<FolderLock>> {
        let Some(folder) = &self.0 else { return Ok(Some(FolderLock { file: None, temporary: None })) };
        let path = folder.join(name);
        loop {
            let file = open(&path)?;
            if !try_flock(&file, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(None);
            }
            // The holder before may have deleted the file that was opened.
            if std::fs::metadata(&path).is_ok_and(|now| file.metadata().is_ok_and(|own| own.ino() == now.ino())) {
                return Ok(Some(FolderLock { file: Some(file), temporary: Some(path) }));
            }
        }
    }

    async fn wait_for(&self, name: &str, operation: FlockOperation) -> io::Result<FolderLock> {
        let Some(folder) = &self.0 else { return Ok(FolderLock { file: None, temporary: None }) };
        let (file, begun) = (open(&folder.join(name))?, Instant::now());
        while !try_flock(&file, operation)? {
            if begun.elapsed() > WAIT {
                return Err(io::Error::new(ErrorKind::TimedOut, format!("another server holds the lock {name}")));
            }
            tokio::time::sleep(RETRY).await;
        }
        Ok(FolderLock { file: Some(file), temporary: None })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        if let (Some(file), Some(path)) = (&self.file, &self.temporary)
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::warn!(%error, ?file, "could not delete a lock file");
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn try_flock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test]
    async fn servers_exclude_each_other() {
        let data = tempfile::tempdir().unwrap();
        let servers = [FolderLocks::shared(data.path()).unwrap(), FolderLocks::shared(data.path()).unwrap()];
        let readers =
            [servers[0].lock_shared("policies").await.unwrap(), servers[1].lock_shared("policies").await.unwrap()];
        let waiting = tokio::spawn({
            let servers = servers.clone();
            async move { servers[0].lock("policies").await.map(drop) }
        });
        tokio::time::sleep(RETRY * 3).await;
        assert!(!waiting.is_finished());
        drop(readers);
        waiting.await.unwrap().unwrap();

        let upload = servers[0].try_lock("upload").unwrap().unwrap();
        assert!(servers[1].try_lock("upload").unwrap().is_none());
        drop(upload);
        drop(servers[1].try_lock("upload").unwrap().unwrap());
        assert!(!data.path().join(LOCKS).join("upload").exists(), "its file is deleted");
        let alone = FolderLocks::default();
        let both = [alone.lock("policies").await.unwrap(), alone.lock("policies").await.unwrap()];
        assert!(both.iter().all(|lock| lock.file.is_none()));
    }
}
