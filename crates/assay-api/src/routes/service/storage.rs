//! `GET /storage`: stored evidence, free space, retention, and what the next round of maintenance removes.

use axum::extract::State;
use serde::Serialize;

use crate::http::{ApiError, Json};
use crate::maintenance::due_removals;
use crate::routes::openapi::body::schema_of;
use crate::state::App;

const MIB: u64 = 1 << 20;

/// The stored evidence, the free space and the retention.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct StorageReport {
    /// Free space on the disk of the data folder, in bytes; `null` if it cannot be read.
    pub(crate) free_bytes: Option<u64>,
    /// Free space with less of which uploads are rejected, in bytes.
    pub(crate) min_free_bytes: u64,
    /// Size of the evidence of all jobs, in bytes.
    pub(crate) evidence_bytes: u64,
    /// Number of jobs with evidence.
    pub(crate) evidence_jobs: u64,
    pub(crate) retention: RetentionRules,
    pub(crate) next_removal: NextRemoval,
}

/// The settings of retention.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "RetentionRules")]
pub(crate) struct RetentionRules {
    /// Days that evidence is kept after its job has ended; `null` keeps it forever.
    pub(crate) evidence_days: Option<f64>,
    /// Size of all evidence beyond which that of the jobs that ended first is removed, in bytes; `null` sets no limit.
    pub(crate) evidence_max_bytes: Option<u64>,
    /// Days that a policy archive is kept after its job has ended; `null` keeps it forever.
    pub(crate) policy_days: Option<f64>,
    /// Days that a model is kept after its last use; `null` keeps it forever.
    pub(crate) model_days: Option<f64>,
    /// Interval between rounds of maintenance, in seconds.
    pub(crate) every_s: f64,
}

/// The removals of the next round of maintenance, as of now; at most about a thousand of each kind.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "NextRemoval")]
pub(crate) struct NextRemoval {
    /// Number of jobs whose evidence is removed.
    pub(crate) evidence_jobs: u64,
    /// Size of that evidence, in bytes.
    pub(crate) evidence_bytes: u64,
    /// Number of jobs whose policy archives are removed, unless another job needs them.
    pub(crate) policies: u64,
    /// Number of models that are removed, unfinished uploads included.
    pub(crate) models: u64,
    /// Size of these models, in bytes.
    pub(crate) model_bytes: u64,
    /// Number of jobs of which files are being deleted: removed ones, and what is left of attempts that were not
    /// recorded.
    pub(crate) pending_jobs: u64,
}

/// Get the state of the storage
///
/// Returns the size of the evidence, the free disk space, how long evidence, policies and models are kept, and what the
/// next round of maintenance removes.
#[utoipa::path(
    get, path = "/storage", operation_id = "storage", tag = "service",
    responses((status = 200, body = ref(schema_of::<StorageReport>()))),
)]
pub(in crate::routes) async fn handle(State(app): State<App>) -> Result<Json<StorageReport>, ApiError> {
    storage_report(&app).await.map(Json)
}

/// Returns the state of the storage.
pub(crate) async fn storage_report(app: &App) -> Result<StorageReport, ApiError> {
    let measured = app.evidence_usage.measure(&app.blobs, &*app.records, app.clock.now()).await;
    let sizes = measured.map_err(|e| ApiError::internal("the size of the evidence", &e))?;
    let due = due_removals(app).await.map_err(|e| ApiError::internal("the removals that are due", &e))?;
    let retention = &app.settings.retention;
    let days = |days: f64| (days > 0.0).then_some(days);
    Ok(StorageReport {
        free_bytes: app.storage.free_bytes().ok(),
        min_free_bytes: app.settings.disk.min_free_mib.saturating_mul(MIB),
        evidence_bytes: sizes.values().sum(),
        evidence_jobs: sizes.values().filter(|bytes| **bytes > 0).count() as u64,
        retention: RetentionRules {
            evidence_days: days(retention.evidence_days),
            evidence_max_bytes: (retention.evidence_max_mib > 0).then_some(retention.evidence_max_mib * MIB),
            policy_days: days(retention.policy_days),
            model_days: days(retention.model_days),
            every_s: retention.every_s.get().as_secs_f64(),
        },
        next_removal: NextRemoval {
            evidence_jobs: due.evidence_jobs,
            evidence_bytes: due.evidence_bytes,
            policies: due.policies,
            models: due.models,
            model_bytes: due.model_bytes,
            pending_jobs: due.pending,
        },
    })
}
