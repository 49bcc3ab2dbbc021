//! The caps on an account's jobs. The records enforce them in the transaction that accepts a job; the check before the
//! body is read only avoids uploads that would be rejected.

use assay_model::ScenarioCard;
use assay_store::{AccountCaps, Cap, CapExceeded, JobDemand, JobQuota};

use crate::http::{ApiError, Caller, OverLimit};
use crate::state::App;

/// Rejects the caller's next job early if it would exceed a cap of the account.
pub(crate) async fn precheck(app: &App, caller: &Caller) -> Result<(), ApiError> {
    let now = app.clock.now();
    let has = app.records.account_usage(&caller.key.account, now).await?;
    caps(app).exceeded_by(&has, JobDemand::default(), now).map_or(Ok(()), |over| Err(over.into()))
}

/// Returns the quota that a job with this number of episodes needs.
pub(crate) fn job_quota(app: &App, scenario: &ScenarioCard, episodes: u32, archive_bytes: u64) -> JobQuota {
    let sim_s = u64::from(scenario.time_limit) * u64::from(episodes);
    JobQuota { caps: caps(app), ask: JobDemand { sim_s, stored_bytes: archive_bytes } }
}

/// Returns an error message if a job with this number of episodes could exceed the CPU time that the operator grants a
/// job.
pub(crate) async fn over_cpu_budget(
    app: &App,
    scenario: &ScenarioCard,
    episodes: u32,
) -> Result<Option<String>, ApiError> {
    let granted = app.settings.job.cpu_s;
    let of_episode = app.spec(scenario).await?.episode_cpu_s;
    let most = granted.checked_div(of_episode).unwrap_or(u64::MAX);
    let message = || {
        format!(
            "at most {most} episodes of this scenario fit into the {granted} s of CPU time that a job may use: its \
             policy may use {of_episode} s per episode"
        )
    };
    Ok((u64::from(episodes) > most).then(message))
}

fn caps(app: &App) -> AccountCaps {
    let limits = &app.settings.account;
    AccountCaps {
        jobs_per_day: limits.jobs_per_day.into(),
        active_jobs: limits.active_jobs.into(),
        queued_sim_s: limits.queued_sim_s,
        stored_bytes: limits.disk_mib << 20,
    }
}

impl From<CapExceeded> for ApiError {
    fn from(over: CapExceeded) -> Self {
        let CapExceeded { cap, maximum, current, frees_at, retry_s } = over;
        let limit = match frees_at {
            Some(frees_at) => OverLimit::until(cap.name(), maximum, current, frees_at),
            None => OverLimit::when(cap.name(), maximum, current, frees_when(cap)),
        };
        Self::over_limit(&limit, over.to_string(), retry_s)
    }
}

fn frees_when(cap: Cap) -> &'static str {
    match cap {
        Cap::JobsPerDay => "at the end of the day (UTC)",
        Cap::ActiveJobs => "when one of your account's jobs ends",
        Cap::QueuedSimS => "when jobs of your account end",
        Cap::StoredBytes => "when policies and evidence of your account are deleted or expire",
        Cap::Models | Cap::ModelBytes => "when models of your account are deleted or expire",
    }
}
