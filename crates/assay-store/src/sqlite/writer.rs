//! The writer thread, with group commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use super::checkpoint::Checkpointer;
use super::failure::{SqlResult, database};
use crate::{StorageHealth, StoreError};

/// Capacity of the command queue; further callers wait.
const CAPACITY: usize = 1024;
/// Maximum number of commands per transaction, so that the first does not wait indefinitely.
const MAX_BATCH: usize = 256;

type WriteReply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Runs inside the open transaction, or receives the error of beginning it. Returns the reply, and the outage that
/// occurred, if any.
type WriteOperation = Box<dyn FnOnce(Result<&mut Connection, StoreError>) -> (WriteReply, Option<StoreError>) + Send>;

/// The failure that a change must survive when its caller is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Durability {
    /// A crash of the process. For leases, whose holders die with the machine anyway.
    Process,
    /// A crash of the machine: the change is on disk.
    Machine,
}

struct WriteCommand {
    durability: Durability,
    run: WriteOperation,
}

/// A handle to the writer thread; dropping it finishes the queued commands and ends the thread.
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

    /// Runs `operation` in a transaction and answers once its effects have the given `durability`. If the caller goes
    /// away meanwhile, the operation may still happen.
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
                // The caller may no longer wait for the reply.
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
            tracing::error!("database writer panicked");
        }
    }
}

/// Returns the number of queued commands, for the metrics.
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
    // Changes not yet on disk become durable with the next commit at the level `Machine`.
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
        // An error means that SQLite has already rolled back, so there is nothing to do.
        let _ = db.execute_batch("ROLLBACK");
        database("committing", e)
    });
    // A statement may also fail because of an outage, such as a full disk.
    match outages.iter().flatten().chain(committed.as_ref().err()).next() {
        Some(error) => health.commits_failed(error),
        None => health.commits_work(),
    }
    (answers, committed)
}
