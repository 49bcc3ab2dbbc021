//! Startup of records, worker and API, serving, and shutdown.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use assay_api::{AppState, MetricsAccess, OsEntropy, prepare_folders, remove_partial_uploads};
use assay_judge::Judge;
use assay_model::{Clock, ErrorChain, SystemClock};
use assay_store::{LiveProgress, Records, ScenarioFiles};
use assay_worker::{Cancel, Engine, Keyring, ServiceOptions, WorkerService};
use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::installed_versions;
use super::runtime_packs::RuntimePacks;
use super::service_records::ServiceRecords;
use super::shutdown::{announce_stop, drain, stop_signal, stopped};
use super::startup::{create_first_key, data_folder, raise_file_limit, warn_of_weak_isolation};
use super::state::{ServiceParts, state};
use super::wakeups::wake_workers;
use crate::printing::complain;
use crate::settings::{DEFAULT_METRICS_LISTEN, ServerSettings, Settings};

/// Folder of the signing keys in the data folder.
const SIGNING: &str = "signing";
/// Folder of the scenario versions in the data folder.
const SCENARIOS: &str = "scenarios";

/// Serves until SIGTERM or Ctrl-C, then drains.
pub(crate) async fn run(settings: &Settings, engine: Engine, judge: Option<Judge>) -> anyhow::Result<()> {
    raise_file_limit();
    let data = data_folder(settings.server.data()?)?;
    let mut opened = ServiceRecords::open(settings, &data).await?;
    let (records, storage) = (Arc::clone(&opened.records), opened.health.clone());
    let is_alone = opened.has_folder_alone();
    prepare_folders(&data)?;
    if is_alone {
        remove_partial_uploads(&data)?;
    }
    create_first_key(&*records, &data).await?;
    let listener = TcpListener::bind(settings.server.listen).await.with_context(|| {
        format!("can't listen on {}; is another server using this address?", settings.server.listen)
    })?;
    let metrics = metrics_listener(&settings.server).await?;
    warn_of_weak_isolation(&engine);
    let Versions { engine, files, keeping } = with_versions(engine, &records, &data, is_alone).await?;
    let keyring = Keyring::open(&data.join(SIGNING), &OsEntropy, SystemClock.now())?;
    let live = LiveProgress::default();
    let stopping_preflights = Cancel::new();
    let listening = listener.local_addr().context("the address of the listener")?;
    let state = state(ServiceParts {
        settings,
        listening,
        engine: &engine,
        records,
        data: &data,
        keyring: keyring.clone(),
        scenario_files: files,
        storage: storage.clone(),
        live: live.clone(),
        site: opened.site.clone(),
        locks: opened.locks.clone(),
        stopping_preflights: stopping_preflights.clone(),
        second_judge: judge.is_some(),
    })?;
    if is_alone {
        state.tasks.sweep().context("the folder of tasks")?;
        RuntimePacks::of(&data).sweep().context("the folder of packed runtimes")?;
        state.blobs.remove_unfinished().context("the folder of incoming evidence")?;
    }
    opened.share_folder(&data)?;
    let worker = WorkerService::start(ServiceOptions {
        engine,
        records: Arc::clone(&state.records),
        queue: Arc::clone(&state.queue),
        clock: Arc::clone(&state.clock),
        blobs: state.blobs.clone(),
        judge,
        servers: state.servers.clone(),
        models: state.model_files.clone(),
        archives: state.archives.clone(),
        keyring,
        live,
        site: opened.site.clone(),
        health: storage,
        lease: lease(settings)?,
        max_evidence_bytes: settings.server.max_evidence_mib << 20,
        runtime: tokio::runtime::Handle::current(),
    })?;
    state.readiness.set(Ok(()));
    serve((listener, metrics), state, worker, stopping_preflights).await?;
    keeping.await?;
    Ok(())
}

/// Opens the listener of the metrics. A port that is taken is an error only if the operator named it: a second server
/// on a machine must start all the same.
async fn metrics_listener(settings: &ServerSettings) -> anyhow::Result<Option<TcpListener>> {
    if settings.metrics == MetricsAccess::Off {
        return Ok(None);
    }
    let address = settings.metrics_listen.unwrap_or(DEFAULT_METRICS_LISTEN);
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) if settings.metrics_listen.is_none() => {
            tracing::warn!(
                %address, %error, "no listener for the metrics: set server.metrics_listen to another address, for \
                 example 127.0.0.1:9465"
            );
            return Ok(None);
        }
        Err(error) => {
            let context = format!("can't listen on {address} (server.metrics_listen); is another server using it?");
            return Err(anyhow::Error::new(error).context(context));
        }
    };
    tracing::info!(address = %listener.local_addr()?, "metrics at /metrics");
    Ok(Some(listener))
}

/// The engine with the scenario versions in the data folder.
struct Versions {
    engine: Arc<Engine>,
    files: ScenarioFiles,
    /// The task that copies the installed versions to the data folder.
    keeping: JoinHandle<()>,
}

async fn with_versions(
    engine: Engine,
    records: &Arc<dyn Records>,
    data: &Path,
    is_alone: bool,
) -> anyhow::Result<Versions> {
    let files = ScenarioFiles::folder(&data.join(SCENARIOS)).context("the folder of scenario versions")?;
    let kept = records.scenario_digests().await?.into_iter().collect();
    if is_alone {
        files.sweep(&kept).context("the folder of scenario versions")?;
    }
    let engine = Arc::new(engine.with_versions(files.clone()));
    let keeping = installed_versions::keep(Arc::clone(&engine), Arc::clone(records), files.clone(), kept);
    Ok(Versions { engine, files, keeping: tokio::spawn(keeping) })
}

/// Returns the duration of a lease of this server's lanes.
fn lease(settings: &Settings) -> anyhow::Result<SignedDuration> {
    SignedDuration::try_from(settings.intervals.lane_lease_s.get()).context("the duration of a lease")
}

/// Serves until a signal arrives or serving fails. Requests and episodes are drained concurrently.
async fn serve(
    (listener, metrics): (TcpListener, Option<TcpListener>),
    state: AppState,
    worker: WorkerService,
    stopping_preflights: Cancel,
) -> anyhow::Result<()> {
    let address = listener.local_addr()?;
    let (stop, stopping) = watch::channel(false);
    let watcher = tokio::spawn(announce_stop(stop_signal()?, stop.clone()));
    let drained = tokio::spawn(drain(worker, stopping_preflights, stopping.clone()));
    let maintenance = tokio::spawn(assay_api::run_maintenance(state.clone(), stopped(stopping.clone())));
    let webhooks = tokio::spawn(assay_api::deliver_webhooks(state.clone(), stopped(stopping.clone())));
    let attending = tokio::spawn(assay_api::attend_workers(state.clone(), stopped(stopping.clone())));
    let exchanges = tokio::spawn(assay_api::exchange_with_other_servers(state.clone(), stopped(stopping.clone())));
    let wakeups = state.site.is_shared().then(|| {
        let (records, queue) = (Arc::clone(&state.records), Arc::clone(&state.queue));
        tokio::spawn(wake_workers(records, queue, stopped(stopping.clone())))
    });
    let metrics = metrics.map(|metrics| {
        let served = assay_api::serve_metrics(metrics, state.clone(), stopped(stopping.clone()));
        tokio::spawn(async move {
            if let Err(error) = served.await {
                tracing::error!(error = %ErrorChain(&error), "the listener of the metrics failed");
            }
        })
    });
    complain!("assay: listening on http://{address}");
    let served = assay_api::serve(listener, state, stopped(stopping)).await;
    // If serving failed, no signal has announced the stop.
    stop.send_replace(true);
    drained.await??;
    maintenance.await?;
    webhooks.await?;
    attending.await?;
    exchanges.await?;
    if let Some(metrics) = metrics {
        metrics.await?;
    }
    if let Some(wakeups) = wakeups {
        wakeups.await?;
    }
    watcher.abort();
    Ok(served?)
}
