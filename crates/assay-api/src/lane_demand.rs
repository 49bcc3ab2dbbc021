//! The number of lanes that would have work.

use assay_store::{HiddenSubmission, Work};

use crate::http::ApiError;
use crate::state::App;

/// Maximum number of waiting shards that are counted.
const MAX_WAITING: u32 = 10_000;

/// The number of lanes, on this machine and on others, that would have work. A running submission whose shards are
/// hidden counts as one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneDemand {
    /// Shards that wait for a lane.
    pub(crate) waiting: u64,
    /// Shards that run.
    pub(crate) running: u64,
}

/// Counts the shards that wait and run.
pub(crate) async fn lane_demand(app: &App) -> Result<LaneDemand, ApiError> {
    let waiting = app.records.claimable(MAX_WAITING).await?;
    let waiting = waiting.iter().filter(|work| matches!(work, Work::Shard { .. })).count();
    // All running shards, and none of those that wait.
    let queue = app.records.queue_snapshot(0, app.clock.now()).await?;
    let running = queue.shards.iter().filter(|shard| shard.since.is_some()).count();
    let is_running = |entry: &&HiddenSubmission| entry.started_at.is_some() && entry.judging_at.is_none();
    let hidden = queue.hidden.iter().filter(is_running).count();
    Ok(LaneDemand { waiting: waiting as u64, running: (running + hidden) as u64 })
}
