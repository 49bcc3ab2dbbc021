//! `POST /verify`: receives a policy and a scenario, and responds with 201 and the job once it is stored durably.

use assay_model::JobId;
use axum::Extension;
use axum::extract::{OriginalUri, Request, State};

use super::get::show_accepted;
use crate::acceptance::{AcceptedJob, JobOrigin, VerificationToAccept, accept_verification};
use crate::http::{ApiError, Caller, IdempotencyGuard};
use crate::routes::openapi::body::{never_null, schema_of};
use crate::state::App;
use crate::upload::{self, UploadForm, VerifyRequest};
use crate::views::JobView;

/// The parts of the form.
#[derive(schemars::JsonSchema)]
#[schemars(deny_unknown_fields, transform = never_null)]
#[expect(dead_code, reason = "only its schema is used; `upload` reads the form")]
pub(in crate::routes) struct VerifyForm {
    /// Zip archive with `policy.py` at its root. Either this part, `policy_url` or `connect` is required. If both are
    /// given, the archive is evaluated, the parts about a policy server have no effect, and `warnings` names them.
    #[schemars(with = "Option<String>", extend("format" = "binary", "contentMediaType" = "application/zip"))]
    policy: Option<Vec<u8>>,
    /// URL of a running policy server, as an alternative to `policy`: ws://, wss://, http:// or https://.
    #[schemars(length(max = 2048))]
    policy_url: Option<String>,
    /// `true` for a policy that connects itself, as an alternative to `policy` and `policy_url`, which take precedence:
    /// see `POST /verify/{job_id}/connection`.
    connect: Option<bool>,
    /// With `policy_url`: the API key that the server requires, printable ASCII. Stored only until the job has run, and
    /// never shown.
    #[schemars(pattern("^[ -~]*[!-~][ -~]*$"), length(max = 4096), extend("writeOnly" = true, "format" = "password"))]
    policy_api_key: Option<String>,
    /// With `policy_url`: maximum number of episodes that use the server at the same time; 1 if absent.
    #[schemars(range(min = 1, max = 16))]
    policy_concurrency: Option<u32>,
    /// With `policy_url` or `connect`: number of actions in an answer that are executed before the next request; if
    /// absent, the scenario's default, or all of them.
    #[schemars(range(min = 1, max = 1000))]
    replan_steps: Option<u32>,
    /// Id of a scenario. `scenario_id` is an alternative name of this part; a request with both is rejected.
    #[schemars(length(max = 4096))]
    scenario: String,
    /// Number of episodes; if absent, 3, or with `max_violation_probability` as many as the certification needs.
    #[schemars(range(min = 1))]
    num_episodes: Option<u32>,
    /// Seed of all episodes: the same seed yields the same worlds; random if absent.
    seed: Option<u64>,
    /// Key from which the policy's seeds are derived, in the form used by job objects: 64 hexadecimal digits. If
    /// absent, it is derived from `seed`, or random if there is no seed.
    #[schemars(pattern("^[0-9a-fA-F]{64}$"), length(min = 64, max = 64))]
    policy_key: Option<String>,
    /// Violation probability to certify as an upper bound. Rejected if that needs more episodes than a job may have.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    max_violation_probability: Option<f64>,
    /// Confidence level of all bounds; 0.95 if absent.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    confidence_level: Option<f64>,
    /// Episodes that get a log and a video: `all`, `violations` (the default) or `none`.
    record: Option<assay_model::Record>,
    /// Name of the policy: 1 to 100 characters, at least one of them visible; the archive's file name if absent.
    #[schemars(pattern("[^\\s\\x00-\\x1f\\x7f-\\x9f]"), length(min = 1, max = 100))]
    policy_name: Option<String>,
    /// URL to which the end of the job is reported: https:// or http://, see the group `webhooks`. The account needs a
    /// webhook secret (`POST /webhooks/secret`).
    #[schemars(pattern("^https?://"), length(max = 2048))]
    callback_url: Option<String>,
    /// Labels that the job's workers must have, as `NAME=VALUE,NAME=VALUE`; see `GET /workers`. The server's own lanes
    /// have none. At most 8, with different names; each name and value 1 to 64 printable ASCII characters, no space.
    #[schemars(length(max = 1100))]
    labels: Option<String>,
}

/// Verify a policy
///
/// Accepts a zip archive with `policy.py`, the URL of a policy server, or a policy that connects itself, and queues a
/// job that runs the policy `num_episodes` times in the scenario. Errors in the form name the part; errors of the
/// policy itself are part of the result. With an `Idempotency-Key`, the request can be repeated safely without creating
/// a second job.
#[utoipa::path(
    post, path = "/verify", operation_id = "verify", tag = "verify",
    request_body(content = ref(schema_of::<VerifyForm>()), content_type = "multipart/form-data"),
    responses(
        (status = 201, description = "Accepted, and stored durably", body = ref(schema_of::<JobView>()),
            headers(("Location" = String, description = "URL of the job"))),
        (status = 400), (status = 408), (status = 413), (status = 415), (status = 422),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    OriginalUri(uri): OriginalUri,
    request: Request,
) -> Result<AcceptedJob<JobView>, ApiError> {
    let origin = JobOrigin::begin(&app, &caller, IdempotencyGuard::of(&request), &uri).await?;
    let form = upload::receive(&app, &caller, request, upload::VERIFY_PARTS).await?;
    let accepted = accept_form(&app, &caller, &origin, form).await?;
    let job = show_accepted(&app, &caller, accepted.body).await?;
    Ok(accepted.with_body(job))
}

/// Validates a received form, and queues the verification that it describes.
pub(crate) async fn accept_form(
    app: &App,
    caller: &Caller,
    origin: &JobOrigin,
    form: UploadForm,
) -> Result<AcceptedJob<JobId>, ApiError> {
    let request = VerifyRequest::read(app, &form).await?;
    let callback_url = upload::callback_url(app, &caller.key.account, &form).await?;
    let policy = match request.server {
        Some(_) => None,
        None => Some(upload::accept(app, caller, form).await?),
    };
    accept_verification(app, origin, VerificationToAccept { request, policy, callback_url }).await
}
