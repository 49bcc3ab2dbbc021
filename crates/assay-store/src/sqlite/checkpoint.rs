//! Moves the write-ahead log into the database file, off the commit path.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::failure::database;
use super::reserve::Reserve;
use crate::StorageHealth;

/// Pages of 4 KiB that are not moved yet, below which the log is left alone. After each move the next commit waits for the
/// disk twice, since it begins the log anew.
const WORTH_IT_PAGES: i64 = 1024;
/// From this length on, commits wait until the log starts anew; it does not grow for ever.
const TOO_LONG_PAGES: i64 = 16 * 1024;
/// Least time between two checkpoints.
const PAUSE: Duration = Duration::from_millis(200);
/// A short log is moved as well once nothing was written for this long.
const IDLE: Duration = Duration::from_secs(30);
/// How often space that the records could not hold is tried for again.
const HOLD_AGAIN: Duration = Duration::from_secs(5);

/// Wakes the checkpointing thread; dropping it ends the thread.
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

fn run(db: &Connection, nudged: &Receiver<()>, (reserve, health): (&Reserve, &StorageHealth)) {
    let mut pending = false;
    loop {
        let wait = match (reserve.is_held(), pending) {
            (false, _) => HOLD_AGAIN,
            (true, true) => IDLE,
            (true, false) => Duration::MAX,
        };
        // A log that is cut gives its blocks away, and the next commit would have to ask for them.
        let anew = if reserve.is_wanted() { "RESTART" } else { "TRUNCATE" };
        match nudged.recv_timeout(wait) {
            Ok(()) => {
                pending = true;
                // The file keeps the length that it once had; how much of it counts, the database knows.
                let (pages, moved) = checkpoint(db, "NOOP", health).unwrap_or_default();
                if pages - moved >= WORTH_IT_PAGES {
                    checkpoint(db, if pages < TOO_LONG_PAGES { "PASSIVE" } else { anew }, health);
                    renew(reserve, health);
                    std::thread::sleep(PAUSE);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                // It may be that a full disk kept the log from being moved.
                let moved = checkpoint(db, if reserve.is_held() { anew } else { "PASSIVE" }, health).is_some();
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

/// Holds what the records lost of their reserve.
fn renew(reserve: &Reserve, health: &StorageHealth) {
    match reserve.renew() {
        Err(error) => health.reserve_failed(&error),
        Ok(()) => health.reserve_held(),
    }
}

/// The log's pages, and how many of them are moved, afterwards.
fn checkpoint(db: &Connection, mode: &'static str, health: &StorageHealth) -> Option<(i64, i64)> {
    let moved = db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| Ok((row.get(1)?, row.get(2)?)));
    let result = moved.map_err(|e| database("moving the log into the database", e));
    match &result {
        Err(error) => health.checkpoint_failed(error),
        // One that moves nothing shows nothing.
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
    fn a_log_that_was_moved_is_left_alone_until_it_is_long_again() {
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
