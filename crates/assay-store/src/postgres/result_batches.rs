//! Group commit of results: results of several workers share a transaction, each in a savepoint, so that one that is
//! refused affects no other. All results of a scenario and of an account share a row, whose lock is held until the
//! disk has confirmed the commit, so one transaction for each result would be several times slower.

use std::sync::Arc;
use std::time::Duration;

use super::batches::{BatchedCall, Batches};
use super::engine::PgEngine;
use super::result_entry::ResultEntry;
use super::results::record_all;
use crate::RecordOutcome;

/// Maximum time for which a transaction waits for more results, under load.
const WAIT: Duration = Duration::from_millis(5);
/// Number of transactions in progress: while one waits for the disk, the next one records.
const CONCURRENT: usize = 2;
const DOING: &str = "recording a result";

/// The queue of results.
pub(super) type ResultBatches = Batches<ResultEntry, RecordOutcome>;

/// Starts the task that records results.
pub(super) fn result_batches(engine: &Arc<PgEngine>) -> ResultBatches {
    let engine = Arc::clone(engine);
    Batches::start(CONCURRENT, WAIT, move |calls| run(Arc::clone(&engine), calls))
}

async fn run(engine: Arc<PgEngine>, calls: Vec<BatchedCall<ResultEntry, RecordOutcome>>) {
    let entries: Vec<&ResultEntry> = calls.iter().map(|call| &call.request).collect();
    match engine.write(DOING, |db| record_all(db, &entries)).await {
        Ok(outcomes) => {
            for (call, outcome) in calls.into_iter().zip(outcomes) {
                call.answer(outcome);
            }
        }
        // An invalid row of one job must not keep the results of others from being recorded.
        Err(error) if calls.len() > 1 && !error.is_outage() => {
            for call in calls {
                let alone = [&call.request];
                let outcomes = engine.write(DOING, |db| record_all(db, &alone)).await;
                let outcome = outcomes.and_then(|mut outcomes| outcomes.pop().unwrap_or(Err(error.clone())));
                call.answer(outcome);
            }
        }
        Err(error) => calls.into_iter().for_each(|call| call.answer(Err(error.clone()))),
    }
}
