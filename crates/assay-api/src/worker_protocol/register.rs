//! `POST /worker/v1/register`: a worker starts.

use assay_model::{RegisterAnswer, RegisterRequest, WORKER_PROTOCOL, WorkerRegistration};
use axum::extract::{Request, State};

use super::identity::AdmittedWorker;
use super::receive;
use crate::http::{ApiError, ErrorCode, Json};
use crate::state::App;

/// Maximum number of lanes of a worker.
const MAX_LANES: u32 = 1024;
/// Maximum number of labels, and maximum length of a name or a value, in bytes.
const MAX_LABELS: usize = 32;
const MAX_LABEL_BYTES: usize = 64;
/// Maximum length of a fingerprint in JSON, in bytes.
const MAX_MACHINE_BYTES: usize = 4096;
/// Maximum number of runtimes.
const MAX_RUNTIMES: usize = 64;

pub(super) async fn handle(
    State(app): State<App>,
    AdmittedWorker(worker): AdmittedWorker,
    request: Request,
) -> Result<Json<RegisterAnswer>, ApiError> {
    let request: RegisterRequest = receive::json(&app, &worker.name, request).await?;
    if request.protocol != WORKER_PROTOCOL {
        let message = format!(
            "this server ({}) speaks version {WORKER_PROTOCOL} of the worker protocol, the worker ({}) version {}: \
             install the same release of assay on both",
            env!("CARGO_PKG_VERSION"),
            request.registration.version,
            request.protocol
        );
        return Err(ApiError::new(ErrorCode::Conflict, message));
    }
    check(&request.registration)?;
    if !worker.trusted {
        require_same_machine(&app, &request.registration)?;
    }
    let now = app.clock.now();
    let registered = app.records.register_worker(&worker.name, request.registration, now).await?;
    let (generation, requeued) = registered.ok_or_else(|| ApiError::unauthorized("the worker's token is refused"))?;
    tracing::info!(worker = %worker.name, generation, "worker registered");
    for work in requeued {
        app.queue.publish(work).await;
    }
    app.give_back_tasks(&worker.name);
    app.worker_fleet.count(&*app.records, app.offered_runtimes().await, now).await?;
    Ok(Json(RegisterAnswer {
        worker: worker.name.to_string(),
        generation,
        lease_s: app.settings.intervals.worker_lease_s,
        beat_s: app.settings.intervals.worker_beat_s(),
        wall_budget_s: app.settings.job.wall_budget_s.get().as_secs_f64(),
        wall_budget_per_simulated_s: f64::from(app.settings.job.wall_budget_per_simulated_s),
        trusted: worker.trusted,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        packed_evidence: true,
        shared_claims: true,
    }))
}

/// Refuses a machine whose episodes could not be stepped again here: equal inputs give other bits there, so nothing
/// would contradict a worker that invents a fingerprint.
fn require_same_machine(app: &App, registration: &WorkerRegistration) -> Result<(), ApiError> {
    let (here, there) = (&app.fingerprint, &registration.machine);
    if here.digest() == there.digest() {
        return Ok(());
    }
    let differences: Vec<_> = here.differences(there).into_iter().map(|difference| difference.name).collect();
    let message = format!(
        "the worker's machine differs from the server's ({}), so its episodes can't be checked by stepping them again here: \
         if you trust its host, create it with --trusted",
        differences.join(", ")
    );
    Err(ApiError::new(ErrorCode::Conflict, message))
}

fn check(registration: &WorkerRegistration) -> Result<(), ApiError> {
    let long = |text: &String| {
        text.is_empty() || text.len() > MAX_LABEL_BYTES || text.chars().any(|c| c.is_control() || !c.is_ascii())
    };
    let size = serde_json::to_vec(&registration.machine).map_or(usize::MAX, |text| text.len());
    let machine = &registration.machine;
    let texts = [&machine.mujoco, &machine.glibc, &machine.numpy, &machine.blas_core, &machine.scorer_version];
    if size > MAX_MACHINE_BYTES
        || texts.into_iter().chain(&machine.cpu_features).any(|text| text.chars().any(char::is_control))
    {
        return Err(ApiError::invalid("machine", None, "the worker's fingerprint is not one of assay's"));
    }
    if long(&registration.version) {
        return Err(ApiError::invalid("version", None, "the worker's version is not one of assay's"));
    }
    let labels = &registration.labels;
    if !(1..=MAX_LANES).contains(&registration.lanes) {
        return Err(ApiError::invalid("lanes", None, format!("a worker has 1 to {MAX_LANES} lanes")));
    }
    if labels.len() > MAX_LABELS || labels.iter().any(|(name, value)| long(name) || long(value)) {
        let message =
            format!("a worker has at most {MAX_LABELS} labels of 1 to {MAX_LABEL_BYTES} ASCII characters each");
        return Err(ApiError::invalid("labels", None, message));
    }
    if registration.runtimes.len() > MAX_RUNTIMES {
        return Err(ApiError::invalid("runtimes", None, format!("a worker has at most {MAX_RUNTIMES} runtimes")));
    }
    Ok(())
}
