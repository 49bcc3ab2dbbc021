//! Claims of several workers share a transaction, so that they are fair among each other and wait for the disk once.

use std::sync::Arc;
use std::time::Duration;

use super::batches::{BatchedCall, Batches};
use super::claim_entry::{ClaimEntry, PickedShard};
use super::claims::claim_all;
use super::engine::PgEngine;
use crate::Claim;

/// Maximum number of further attempts at a claim for which work is queued that other processes have locked.
const MAX_CONTENDED: u32 = 20;
/// Pause before such an attempt.
const PAUSE: Duration = Duration::from_millis(3);
const DOING: &str = "claiming a shard";

/// The queue of claims.
pub(super) type ClaimBatches = Batches<ClaimEntry, Option<Claim>>;

/// Starts the task that claims shards.
pub(super) fn claim_batches(engine: &Arc<PgEngine>) -> ClaimBatches {
    let engine = Arc::clone(engine);
    Batches::start(1, Duration::ZERO, move |calls| run(Arc::clone(&engine), calls))
}

type ShardCall = BatchedCall<ClaimEntry, Option<Claim>>;

async fn run(engine: Arc<PgEngine>, calls: Vec<ShardCall>) {
    let mut open = attempt(&engine, calls).await;
    for _ in 0..MAX_CONTENDED {
        if open.is_empty() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
        open = attempt(&engine, open).await;
    }
    open.into_iter().for_each(|call| call.answer(Ok(None)));
}

/// Returns the calls for which all queued work was locked.
async fn attempt(engine: &PgEngine, calls: Vec<ShardCall>) -> Vec<ShardCall> {
    let requests: Vec<&ClaimEntry> = calls.iter().map(|call| &call.request).collect();
    let picked = engine.write(DOING, |db| claim_all(db, &requests)).await;
    let mut contended = Vec::new();
    match picked {
        Ok(picked) => {
            for (call, picked) in calls.into_iter().zip(picked) {
                match picked {
                    PickedShard::Claimed(claim) => call.answer(Ok(Some(*claim))),
                    PickedShard::Nothing => call.answer(Ok(None)),
                    PickedShard::Contended => contended.push(call),
                }
            }
        }
        // An invalid row of one job must not keep others from being claimed.
        Err(error) if calls.len() > 1 && !error.is_outage() => {
            for call in calls {
                let alone = [&call.request];
                let picked = engine.write(DOING, |db| claim_all(db, &alone)).await;
                match picked.map(|mut picked| picked.pop()) {
                    Ok(Some(PickedShard::Claimed(claim))) => call.answer(Ok(Some(*claim))),
                    Ok(Some(PickedShard::Contended)) => contended.push(call),
                    Ok(Some(PickedShard::Nothing) | None) => call.answer(Ok(None)),
                    Err(error) => call.answer(Err(error)),
                }
            }
        }
        Err(error) => calls.into_iter().for_each(|call| call.answer(Err(error.clone()))),
    }
    contended
}
