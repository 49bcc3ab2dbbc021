//! The one thread that writes, with group commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use super::checkpoint::Checkpointer;
use super::failure::{SqlResult, database};
use crate::{StorageHealth, StoreError};

/// Commands that may wait; more callers wait for room.
const CAPACITY: usize = 1024;
/// Commands of one transaction at most, so that the first does not wait for ever.
const MAX_BATCH: usize = 256;

type WriteReply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Runs inside the open transaction, or is told why there is none. With the answer comes an outage that kept it from its work.
type WriteOperation = Box<dyn FnOnce(Result<&mut Connection, StoreError>) -> (WriteReply, Option<StoreError>) + Send>;

/// What a change must outlive when its caller is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Durability {
    /// The process. For what dies with the machine anyway: who works on what.
    Process,
    /// The machine: it is on the disk.
    Machine,
}

struct WriteCommand {
    durability: Durability,
    run: WriteOperation,
}

/// A handle on the writing thread; dropping it finishes what waits and ends the thread.
#[derive(Debug)]
pub(super) struct Writer {
    sender: Option<mpsc::Sender<WriteCommand>>,
    thread: Option<JoinHandle<()>>,
    changes: watch::Receiver<()>,
    commits: Arc<AtomicU64>,
}

impl Writer {
    pub(super) fn start(
        db: Connection,
        checkpointer: Checkpointer,
        health: StorageHealth,
    ) -> Result<Self, std::io::Error> {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let (changed, changes) = watch::channel(());
        let commits = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&commits);
        let thread = std::thread::Builder::new()
            .name("assay-db-writer".into())
            .spawn(move || run(db, receiver, (&checkpointer, &health), (&changed, &counter)))?;
        Ok(Self { sender: Some(sender), thread: Some(thread), changes, commits })
    }

    /// Returns a channel that is marked after each commit.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.clone()
    }

    /// Returns the number of commits so far. It grows after a commit and before its callers are answered.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    /// Runs `operation` in a transaction and answers once its effects have the given `durability`. If the caller goes away meanwhile,
    /// the operation may still happen.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        doing: &'static str,
        operation: impl FnOnce(&Connection) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let run: WriteOperation = Box::new(move |db| {
            let result = db.and_then(|db| in_savepoint(db, operation).map_err(|fail| fail.while_doing(doing)));
            let outage = result.as_ref().err().filter(|error| error.is_outage()).cloned();
            let answer: WriteReply = Box::new(move |committed| {
                // The caller may be gone; then nobody wants the answer.
                let _ = answer.send(committed.and(result));
            });
            (answer, outage)
        });
        let sender = self.sender.as_ref().ok_or(StoreError::Closed)?;
        metrics::gauge!("assay_db_queue_length").set(waiting(sender));
        sender.send(WriteCommand { durability, run }).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the database writer panicked");
        }
    }
}

/// Commands that wait, for the metrics.
fn waiting(sender: &mpsc::Sender<WriteCommand>) -> f64 {
    // At most CAPACITY, which a float holds exactly.
    u32::try_from(sender.max_capacity() - sender.capacity()).map_or(f64::NAN, f64::from)
}

fn in_savepoint<T>(db: &mut Connection, operation: impl FnOnce(&Connection) -> SqlResult<T>) -> SqlResult<T> {
    let savepoint = db.savepoint()?;
    let value = operation(&savepoint)?;
    savepoint.commit()?;
    Ok(value)
}

fn run(
    mut db: Connection,
    mut receiver: mpsc::Receiver<WriteCommand>,
    (checkpointer, health): (&Checkpointer, &StorageHealth),
    (changed, commits): (&watch::Sender<()>, &AtomicU64),
) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while receiver.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
        let begun = Instant::now();
        let (answers, committed) = commit(&mut db, &mut batch, health);
        metrics::histogram!("assay_db_commit_seconds").record(begun.elapsed());
        commits.fetch_add(1, Ordering::SeqCst);
        changed.send_replace(());
        for answer in answers {
            answer(committed.clone());
        }
        checkpointer.nudge();
    }
}

fn commit(
    db: &mut Connection,
    batch: &mut Vec<WriteCommand>,
    health: &StorageHealth,
) -> (Vec<WriteReply>, Result<(), StoreError>) {
    // What is not on the disk yet is with the next commit that must be.
    let begin = match batch.iter().map(|command| command.durability).max() {
        Some(Durability::Process) => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
        Some(Durability::Machine) | None => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
    };
    if let Err(e) = db.execute_batch(begin) {
        let error = database("beginning a transaction", e);
        health.commits_failed(&error);
        return (batch.drain(..).map(|command| (command.run)(Err(error.clone())).0).collect(), Err(error));
    }
    let (answers, outages): (Vec<_>, Vec<_>) = batch.drain(..).map(|command| (command.run)(Ok(&mut *db))).unzip();
    let committed = db.execute_batch("COMMIT").map_err(|e| {
        // SQLite may have rolled back by itself; then this says so and there is nothing to do.
        let _ = db.execute_batch("ROLLBACK");
        database("committing", e)
    });
    // Also a statement may need room on the disk.
    match outages.iter().flatten().chain(committed.as_ref().err()).next() {
        Some(error) => health.commits_failed(error),
        None => health.commits_work(),
    }
    (answers, committed)
}
