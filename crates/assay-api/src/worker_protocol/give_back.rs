//! `POST /worker/v1/leases/{lease}/return`: gives a shard back.

use assay_model::{ShardReturn, sanitise};
use assay_store::{ReturnOutcome, Work};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use jiff::SignedDuration;

use super::lease::HeldShard;
use super::receive;
use crate::claim_pauses::ClaimPauses;
use crate::http::ApiError;
use crate::state::App;

/// Message for the owner of a job that workers could not run: their own words stay in the log.
const FAILED: &str = "an internal error of a worker; this server's log has the cause under the id of the job";
/// Maximum pause of a postponed shard, in seconds.
const MAX_PAUSE_S: u32 = 60;
/// Maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 2048;

pub(super) async fn handle(State(app): State<App>, held: HeldShard, request: Request) -> Result<StatusCode, ApiError> {
    let how: ShardReturn = receive::json(&app, &held.worker.name, request).await?;
    let (fence, now) = (held.claim.fence, app.clock.now());
    let clean = |text: &str| sanitise(text, MAX_MESSAGE_BYTES);
    let returned = match how {
        ShardReturn::Release => app.records.release_shard(fence).await?,
        ShardReturn::Postpone { pause_s, reason } => {
            let pause = SignedDuration::from_secs(pause_s.min(MAX_PAUSE_S).into());
            app.records.postpone_shard(fence, now.saturating_add(pause).unwrap_or(now), &clean(&reason)).await?
        }
        // A worker's word is not enough to blame a scenario, which was checked before it was published.
        ShardReturn::Scenario { message: reason } | ShardReturn::Fail { reason } => {
            tracing::error!(job.id = %fence.job_id, shard = fence.shard, reason = clean(&reason), "shard failed on a worker");
            ClaimPauses(&*app.records).failed(&held.worker.name, fence.job_id, now).await?;
            app.records.fail_shard(fence, FAILED, now).await?
        }
    };
    held.claim.episodes.iter().for_each(|episode| app.live.end(fence.job_id, *episode));
    if returned == ReturnOutcome::Requeued {
        app.queue.publish(Work::Shard { job_id: fence.job_id, shard: fence.shard }).await;
    }
    Ok(StatusCode::NO_CONTENT)
}
