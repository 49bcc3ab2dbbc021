//! Moves the write-ahead log into the database file, off the commit path.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

/// Below this, the log is left alone.
const WORTH_IT_BYTES: u64 = 1 << 20;
/// From this size on, commits wait until the log starts anew; it does not grow for ever.
const TOO_LONG_BYTES: u64 = 64 << 20;
/// Least time between two checkpoints.
const PAUSE: Duration = Duration::from_millis(200);
/// A short log is moved as well once nothing was written for this long.
const IDLE: Duration = Duration::from_secs(30);

/// Wakes the checkpointing thread; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Checkpointer {
    nudges: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(db: Connection, wal: PathBuf) -> Result<Self, std::io::Error> {
        let (nudges, nudged) = sync_channel(1);
        let thread =
            std::thread::Builder::new().name("assay-db-checkpoint".into()).spawn(move || run(&db, &wal, &nudged))?;
        Ok(Self { nudges: Some(nudges), thread: Some(thread) })
    }

    /// Something was committed.
    pub(super) fn nudge(&self) {
        if let Some(nudges) = &self.nudges {
            // Full means that it knows already.
            let _ = nudges.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.nudges = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the checkpointing thread panicked");
        }
    }
}

fn run(db: &Connection, wal: &std::path::Path, nudged: &Receiver<()>) {
    let mut pending = false;
    loop {
        let wait = if pending { IDLE } else { Duration::MAX };
        match nudged.recv_timeout(wait) {
            Ok(()) => {
                pending = true;
                let bytes = wal.metadata().map_or(0, |m| m.len());
                if bytes < WORTH_IT_BYTES {
                    continue;
                }
                checkpoint(db, if bytes < TOO_LONG_BYTES { "PASSIVE" } else { "TRUNCATE" });
                std::thread::sleep(PAUSE);
            }
            Err(RecvTimeoutError::Timeout) => {
                checkpoint(db, "TRUNCATE");
                pending = false;
            }
            Err(RecvTimeoutError::Disconnected) => {
                checkpoint(db, "PASSIVE");
                return;
            }
        }
    }
}

fn checkpoint(db: &Connection, mode: &'static str) {
    let result = db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get::<_, i64>(0));
    if let Err(error) = result {
        tracing::warn!(%error, mode, "a checkpoint failed; the next one will try again");
    }
}
