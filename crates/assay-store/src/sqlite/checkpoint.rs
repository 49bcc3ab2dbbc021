//! Checkpoints: a thread moves the write-ahead log into the database file, off the commit path.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::failure::database;
use super::reserve::Reserve;
use crate::StorageHealth;

/// Minimum number of unmoved pages of 4 KiB for a checkpoint. After each one the next commit waits for the disk twice,
/// since it restarts the log.
const WORTH_IT_PAGES: i64 = 1024;
/// Length of the log, in pages, from which commits wait for a restart of the log, which bounds its growth.
const TOO_LONG_PAGES: i64 = 16 * 1024;
/// Minimum time between two checkpoints.
const PAUSE: Duration = Duration::from_millis(200);
/// Time without a write after which even a short log is moved.
const IDLE: Duration = Duration::from_secs(30);
/// Interval of attempts to reserve disk space that was not available.
const HOLD_AGAIN: Duration = Duration::from_secs(5);

/// Handle that wakes the checkpointing thread; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Checkpointer {
    nudges: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(db: Connection, reserve: Arc<Reserve>, health: StorageHealth) -> Result<Self, std::io::Error> {
        let (nudges, nudged) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("assay-db-checkpoint".into())
            .spawn(move || run(&db, &nudged, (&reserve, &health)))?;
        Ok(Self { nudges: Some(nudges), thread: Some(thread) })
    }

    /// Reports a commit.
    pub(super) fn nudge(&self) {
        if let Some(nudges) = &self.nudges {
            // If the channel is full, a report is already pending.
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
            tracing::error!("checkpoint thread panicked");
        }
    }
}

fn run(db: &Connection, nudged: &Receiver<()>, (reserve, health): (&Reserve, &StorageHealth)) {
    let mut pending = false;
    loop {
        let wait = match (reserve.is_held(), pending) {
            (false, _) => HOLD_AGAIN,
            (true, true) => IDLE,
            (true, false) => Duration::MAX,
        };
        // Truncating the log frees its blocks, which the next commit would have to allocate again.
        let restart_mode = if reserve.is_wanted() { "RESTART" } else { "TRUNCATE" };
        match nudged.recv_timeout(wait) {
            Ok(()) => {
                pending = true;
                // The file keeps its maximum length; only the database knows how much of it is valid.
                let (pages, moved) = checkpoint(db, "NOOP", health).unwrap_or_default();
                if pages - moved >= WORTH_IT_PAGES {
                    checkpoint(db, if pages < TOO_LONG_PAGES { "PASSIVE" } else { restart_mode }, health);
                    renew(reserve, health);
                    std::thread::sleep(PAUSE);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                // A full disk may have prevented the checkpoint.
                let moved = checkpoint(db, if reserve.is_held() { restart_mode } else { "PASSIVE" }, health).is_some();
                renew(reserve, health);
                pending = pending && !moved;
            }
            Err(RecvTimeoutError::Disconnected) => {
                checkpoint(db, "PASSIVE", health);
                return;
            }
        }
    }
}

/// Allocates the missing part of the reserve.
fn renew(reserve: &Reserve, health: &StorageHealth) {
    match reserve.renew() {
        Err(error) => health.reserve_failed(&error),
        Ok(()) => health.reserve_held(),
    }
}

/// Makes a checkpoint. Returns the number of pages in the log and of those already moved.
fn checkpoint(db: &Connection, mode: &'static str, health: &StorageHealth) -> Option<(i64, i64)> {
    let moved = db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| Ok((row.get(1)?, row.get(2)?)));
    let result = moved.map_err(|e| database("moving the log into the database", e));
    match &result {
        Err(error) => health.checkpoint_failed(error),
        // `NOOP` moves nothing, so its success does not show that checkpoints work.
        Ok(_) if mode == "NOOP" => {}
        Ok(_) => health.checkpoints_work(),
    }
    result.ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::time::Instant;

    use super::*;

    #[test]
    fn a_moved_log_is_not_moved_again_until_it_is_long() {
        let folder = tempfile::tempdir().unwrap();
        let open = || super::super::connection::connect(&folder.path().join("db")).unwrap();
        let db = open();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.execute_batch("CREATE TABLE t (x BLOB)").unwrap();
        let reserve = Arc::new(Reserve::of(&folder.path().join("db")).unwrap());
        let health = StorageHealth::new(folder.path());
        let checkpointer = Checkpointer::start(open(), reserve, health.clone()).unwrap();
        let insert = |bytes: i64| {
            db.execute("INSERT INTO t VALUES (zeroblob(?1))", [bytes]).unwrap();
            checkpointer.nudge();
        };
        let waits = || checkpoint(&db, "NOOP", &health).map(|(pages, moved)| pages - moved).unwrap();
        insert(2 * WORTH_IT_PAGES * 4096);
        let until = Instant::now() + Duration::from_secs(20);
        while waits() > 0 {
            assert!(Instant::now() < until, "{} pages wait", waits());
            std::thread::sleep(Duration::from_millis(10));
        }
        for _ in 0..3 {
            std::thread::sleep(PAUSE);
            insert(1);
        }
        std::thread::sleep(PAUSE);
        assert!(waits() > 0, "it was moved for one page");
    }
}
