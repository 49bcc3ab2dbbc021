//! `GET /servers`: the servers that share the records, their lanes, and the episodes that run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use assay_model::{AccountId, JobId, JobKind};
use assay_store::{Bulletin, JobEpisodeProgress};
use axum::Extension;
use axum::extract::State;
use serde::Serialize;

use crate::http::{ApiError, Caller, Json};
use crate::lane_demand::lane_demand;
use crate::routes::openapi::body::schema_of;
use crate::site_exchange::bulletin;
use crate::state::App;

/// Maximum number of episodes that are listed for a server.
const MAX_EPISODES: usize = 100;

/// A server process.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Server")]
pub(crate) struct ServerEntry {
    /// True for the server that answers.
    pub(crate) is_this: bool,
    /// Number of its lanes.
    pub(crate) lanes: u32,
    /// True if it runs jobs on the same machine fingerprint as the server that answers; `null` if that is unknown.
    pub(crate) same_machine: Option<bool>,
    /// Number of its open event streams.
    pub(crate) streams: u64,
    /// Number of uploads that it receives.
    pub(crate) uploads: u64,
    /// The running episodes whose progress is reported to it, at most 100; also those of workers on other hosts.
    pub(crate) episodes: Vec<LiveEpisode>,
    /// Number of running episodes that are not listed: those of submissions, and those beyond 100.
    pub(crate) other_episodes: u64,
}

/// A running episode.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "RunningEpisode")]
pub(crate) struct LiveEpisode {
    /// Id of the verification.
    pub(crate) job_id: JobId,
    /// Its account.
    pub(crate) account: AccountId,
    /// Id of its scenario.
    pub(crate) scenario: String,
    /// Index of the episode.
    pub(crate) episode: u32,
    /// Control steps done.
    pub(crate) step: u32,
    /// Maximum number of control steps.
    pub(crate) max_steps: u32,
}

/// The servers of the site, and the demand for lanes.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct ServerList {
    /// The servers; the one that answers is the first.
    pub(crate) servers: Vec<ServerEntry>,
    /// Number of shards that run, on lanes of servers and of workers on other hosts.
    pub(crate) running_shards: u64,
    /// Number of shards that wait for a lane, at most 10,000.
    pub(crate) waiting_shards: u64,
    /// Number of lanes of workers on other hosts that may claim work.
    pub(crate) worker_lanes: u64,
}

/// List the servers
///
/// Lists the server processes that share the records, with their lanes and the episodes that run, and the number of
/// shards that run and wait. Episodes of submissions are counted, but not listed.
#[utoipa::path(
    get, path = "/servers", operation_id = "servers", tag = "service",
    responses((status = 200, body = ref(schema_of::<ServerList>()))),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ServerList>, ApiError> {
    server_list(&app, &caller).await.map(Json)
}

/// Returns the servers of the site.
pub(crate) async fn server_list(app: &App, caller: &Caller) -> Result<ServerList, ApiError> {
    let mut jobs = HashMap::new();
    let mut servers = vec![entry(app, caller, &bulletin(app), true, &mut jobs).await?];
    for other in app.site.others().iter() {
        servers.push(entry(app, caller, other, false, &mut jobs).await?);
    }
    let demand = lane_demand(app).await?;
    let (workers, now) = (app.records.workers().await?, app.clock.now());
    let admitted = workers.iter().filter(|worker| worker.is_admitted(now));
    let lanes = admitted.filter_map(|worker| worker.registration.as_ref()).map(|known| u64::from(known.lanes)).sum();
    Ok(ServerList { servers, running_shards: demand.running, waiting_shards: demand.waiting, worker_lanes: lanes })
}

/// Account and scenario of a verification; `None` for a submission.
type KnownJobs = HashMap<JobId, Option<(AccountId, String)>>;

async fn entry(
    app: &App,
    caller: &Caller,
    bulletin: &Bulletin,
    is_this: bool,
    jobs: &mut KnownJobs,
) -> Result<ServerEntry, ApiError> {
    let mut episodes = Vec::new();
    for JobEpisodeProgress { job_id, episode, step, max_steps } in bulletin.running.iter().copied().take(MAX_EPISODES) {
        let known = match jobs.entry(job_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(look_up(app, caller, job_id).await?),
        };
        if let Some((account, scenario)) = known {
            let (account, scenario) = (account.clone(), scenario.clone());
            episodes.push(LiveEpisode { job_id, account, scenario, episode, step, max_steps });
        }
    }
    episodes.sort_by_key(|episode| (episode.job_id, episode.episode));
    Ok(ServerEntry {
        is_this,
        lanes: bulletin.lanes,
        same_machine: bulletin.machine.map(|machine| machine == app.fingerprint.digest()),
        streams: bulletin.streams.values().sum::<usize>() as u64,
        uploads: bulletin.uploads.values().map(|uploads| uploads.bodies).sum(),
        other_episodes: (bulletin.running.len() - episodes.len()) as u64,
        episodes,
    })
}

async fn look_up(app: &App, caller: &Caller, id: JobId) -> Result<Option<(AccountId, String)>, ApiError> {
    let job = app.records.job(None, id).await?.filter(|job| job.header.kind() == JobKind::Verify);
    let Some(job) = job else { return Ok(None) };
    caller.record_access(app, (&job.account, &id), "saw a running episode of a job").await?;
    Ok(Some((job.account.clone(), job.header.scenario.to_string())))
}
