//! Groups requests of many callers into transactions.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::StoreError;

/// Capacity of the queue of requests; further callers wait.
const CAPACITY: usize = 1024;
/// Maximum number of requests in a transaction.
pub(super) const MAX_BATCH: usize = 16;
/// A request with the place for its answer.
pub(super) struct BatchedCall<Q, A> {
    pub(super) request: Q,
    answer: oneshot::Sender<Result<A, StoreError>>,
}

impl<Q, A> BatchedCall<Q, A> {
    /// Answers the caller, who may no longer wait.
    pub(super) fn answer(self, answer: Result<A, StoreError>) {
        let _ = self.answer.send(answer);
    }
}

/// The queue to a task that runs batches of requests.
pub(super) struct Batches<Q, A>(mpsc::Sender<BatchedCall<Q, A>>);

impl<Q: Send + 'static, A: Send + 'static> Batches<Q, A> {
    /// Starts the task; it ends when this is dropped. At most `concurrent` calls of `run` are in progress. Under
    /// load, after a transaction with several requests, the next one waits up to `wait` for more.
    pub(super) fn start<F>(
        concurrent: usize,
        wait: Duration,
        run: impl Fn(Vec<BatchedCall<Q, A>>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        tokio::spawn(gather(receiver, (concurrent, wait), run));
        Self(sender)
    }

    /// Sends a request and waits for its answer. If the caller goes away meanwhile, the request may still be carried
    /// out.
    pub(super) async fn call(&self, request: Q) -> Result<A, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.0.send(BatchedCall { request, answer }).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }
}

async fn gather<Q: Send + 'static, A: Send + 'static, F>(
    mut receiver: mpsc::Receiver<BatchedCall<Q, A>>,
    (concurrent, wait): (usize, Duration),
    run: impl Fn(Vec<BatchedCall<Q, A>>) -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let running = Arc::new(Semaphore::new(concurrent));
    let mut is_loaded = false;
    loop {
        // Requests gather in the queue while no transaction can begin.
        let Ok(permit) = Arc::clone(&running).acquire_owned().await else { return };
        let mut batch = Vec::with_capacity(MAX_BATCH);
        if receiver.recv_many(&mut batch, MAX_BATCH).await == 0 {
            return;
        }
        if is_loaded && !wait.is_zero() {
            let more = async {
                while let room @ 1.. = MAX_BATCH.saturating_sub(batch.len()) {
                    if receiver.recv_many(&mut batch, room).await == 0 {
                        break;
                    }
                }
            };
            // The time is up, or the batch is full, or the queue is closed.
            let _ = tokio::time::timeout(wait, more).await;
        }
        is_loaded = batch.len() > 1;
        let done = run(batch);
        tokio::spawn(async move {
            done.await;
            drop(permit);
        });
    }
}
