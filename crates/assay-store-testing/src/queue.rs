//! Queues.

use std::sync::Arc;
use std::time::Duration;

use assay_store::{Queue, Work};

use super::fixtures::job;

/// Longer than any machine needs to deliver a message.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs every case against fresh queues that `make` returns.
///
/// # Panics
/// Panics if the backend does not conform.
pub async fn queue<Q: Queue + 'static, M: AsyncFn() -> Q>(make: M) {
    hints_arrive_in_order(&make().await).await;
    an_empty_queue_times_out(&make().await).await;
    a_waiting_worker_is_woken(Arc::new(make().await)).await;
    a_flood_does_not_block(&make().await).await;
}

fn work(number: u32) -> Work {
    Work::Shard { job_id: job(1, "lab", 1, 1).header.job_id, shard: number }
}

async fn hints_arrive_in_order(queue: &dyn Queue) {
    for number in 0..3 {
        queue.publish(work(number)).await;
    }
    for number in 0..3 {
        assert_eq!(queue.next(PATIENCE).await, Some(work(number)));
    }
}

async fn an_empty_queue_times_out(queue: &dyn Queue) {
    assert_eq!(queue.next(Duration::from_millis(5)).await, None);
    queue.publish(work(0)).await;
    assert_eq!(queue.next(PATIENCE).await, Some(work(0)), "a time-out loses no later hint");
}

async fn a_waiting_worker_is_woken(queue: Arc<dyn Queue>) {
    let waiting = [queue.clone(), queue.clone()].map(|queue| tokio::spawn(async move { queue.next(PATIENCE).await }));
    tokio::task::yield_now().await;
    queue.publish(work(0)).await;
    queue.publish(work(0)).await;
    for worker in waiting {
        assert_eq!(worker.await.unwrap(), Some(work(0)));
    }
}

async fn a_flood_does_not_block(queue: &dyn Queue) {
    for number in 0..100_000 {
        queue.publish(work(number)).await;
    }
    assert!(queue.next(PATIENCE).await.is_some());
}
