//! `POST /preflight`: runs a policy on a scenario for a few steps and reports any problems. Nothing is stored.

use assay_model::Preflight;
use assay_store::{PolicyServerAccess, PolicyServerCredentials};
use axum::Extension;
use axum::extract::{Request, State};

use crate::account_slots::PREFLIGHT_RETRY_S;
use crate::http::{ApiError, Caller, ErrorCode, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::verify::create::VerifyForm;
use crate::state::App;
use crate::upload::{self, UploadForm, VerifyRequest};
use crate::{PreflightFailure, PreflightRequest};

/// Check a policy before it is queued
///
/// Loads a policy in the jail, or calls a policy server, for a few steps of a scenario, which takes seconds instead of
/// a full evaluation. Returns the inputs and outputs of the policy, its latency, and every problem found. Creates no
/// job and counts against no job quota. An account can run one preflight at a time (429).
#[utoipa::path(
    post, path = "/preflight", operation_id = "preflight", tag = "verify",
    request_body(content = ref(schema_of::<VerifyForm>()), content_type = "multipart/form-data",
        description = "The parts of `POST /verify`. Those about episodes are validated, but have no effect."),
    responses(
        (status = 200, description = "The scenario's observations and actions, and the policy's behaviour in its first steps",
            body = ref(schema_of::<Preflight>())),
        (status = 400), (status = 408), (status = 413), (status = 415), (status = 422), (status = 429),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Json<Preflight>, ApiError> {
    // Before the body is read, so that a request that has to wait is rejected at once.
    app.preflight_slots.precheck(&caller.key.account)?;
    let form = upload::receive(&app, &caller, request, upload::VERIFY_PARTS).await?;
    run_preflight(&app, &caller, form).await.map(|(found, _)| Json(found))
}

/// Runs the policy of a received form for a few steps. Returns the form too, so that it can be queued.
pub(crate) async fn run_preflight(
    app: &App,
    caller: &Caller,
    form: UploadForm,
) -> Result<(Preflight, UploadForm), ApiError> {
    let wish = VerifyRequest::read(app, &form).await?;
    let server = wish.server.map(|server| credentials(server.access)).transpose()?;
    let place = app.preflight_slots.acquire(&caller.key.account)?;
    let (runner, account) = (app.clone(), caller.key.account.clone());
    let task = tokio::task::spawn_blocking(move || {
        // Held until the preflight ends, even if the client disconnects.
        let _place = place;
        let request = PreflightRequest {
            scenario: wish.scenario.id.clone(),
            scenario_digest: wish.scenario.digest,
            account,
            archive: form.archive(),
            server: server.map(|credentials| (credentials, wish.replan_steps)),
            policy_name: wish.policy_name,
        };
        (runner.preflights.run(&request), form)
    });
    let (found, form) = task.await.map_err(|e| ApiError::internal("a preflight panicked", &e))?;
    match found {
        Ok(found) => Ok((found, form)),
        Err(PreflightFailure::Policy(failure)) => Err(upload::intake_error(app, failure)),
        Err(PreflightFailure::Stopping) => {
            Err(ApiError::try_again(ErrorCode::Unavailable, "the service is stopping", PREFLIGHT_RETRY_S))
        }
        Err(PreflightFailure::Unavailable(message)) => {
            Err(ApiError::try_again(ErrorCode::Unavailable, &message, PREFLIGHT_RETRY_S))
        }
        Err(PreflightFailure::Broken(message)) => {
            Err(ApiError::internal("a preflight failed", &std::io::Error::other(message)))
        }
    }
}

/// Returns the credentials of a server that can be called.
fn credentials(access: PolicyServerAccess) -> Result<PolicyServerCredentials, ApiError> {
    match access {
        PolicyServerAccess::Call(credentials) => Ok(credentials),
        PolicyServerAccess::Connects => {
            let message = "a preflight is answered at once, and cannot wait for a policy to connect: run `assay check` \
                           beside the policy instead";
            Err(ApiError::invalid("connect", Some("true"), message))
        }
    }
}
