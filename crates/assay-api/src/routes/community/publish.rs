//! `POST /community/scenarios`: receives a scenario as a zip archive, checks it while the client waits, and publishes
//! it.

use assay_model::lane::ScenarioFault;
use assay_model::{AccountId, ScenarioId};
use assay_scenario::check_tags;
use assay_store::{NewVersion, PublishOutcome, VersionSource, is_disk_full};
use axum::Extension;
use axum::extract::{OriginalUri, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;

use crate::account_slots::{AccountSlot, PUBLISH_RETRY_S};
use crate::http::{ApiError, Caller, ErrorCode, IdempotencyGuard, Json, OverLimit};
use crate::links;
use crate::routes::community::view::{CommunityScenarioDetail, detail};
use crate::routes::openapi::body::{never_null, schema_of};
use crate::state::App;
use crate::upload::{self, SCENARIO_PARTS, UploadForm};
use crate::upload_space;
use crate::{Draft, DraftFailure};

/// The form part that errors refer to.
const FIELD: &str = "scenario";

/// Retry delay in seconds if the operator allows no publications.
const DAY_RETRY_S: u64 = 24 * 3600;

/// The parts of the form.
#[derive(schemars::JsonSchema)]
#[schemars(transform = never_null)]
#[expect(dead_code, reason = "only its schema is used; `upload` reads the form")]
pub(in crate::routes) struct PublishForm {
    /// Zip archive of a scenario's folder: `scenario.toml`, the scene, `README.md`, meshes.
    #[schemars(with = "String", extend("format" = "binary", "contentMediaType" = "application/zip"))]
    scenario: Vec<u8>,
    /// Tags in addition to those of `scenario.toml`, separated by commas.
    #[schemars(length(max = 4096))]
    tags: Option<String>,
}

/// Publish a scenario
///
/// Receives a zip archive with `scenario.toml` and its files, compiles the scenario, runs it without a policy and
/// renders it, all in a jail. The response is sent once this is done, after up to 15 s of CPU time. Errors in the
/// scenario name the file and the key. A published scenario is immediately available to everyone, under the id
/// `ACCOUNT.ID`; a published version never changes.
#[utoipa::path(
    post, path = "/community/scenarios", operation_id = "publish_scenario", tag = "scenarios",
    request_body(content = ref(schema_of::<PublishForm>()), content_type = "multipart/form-data"),
    responses(
        (status = 201, description = "Published; the scenario can be used from now on", body = ref(schema_of::<CommunityScenarioDetail>()),
            headers(("Location" = String, description = "URL of the scenario"))),
        (status = 400), (status = 408), (status = 409), (status = 413), (status = 415), (status = 429),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    OriginalUri(uri): OriginalUri,
    request: Request,
) -> Result<Response, ApiError> {
    let is_repeated = IdempotencyGuard::of(&request).is_some();
    precheck_publication(&app, &caller, is_repeated).await?;
    let form = upload::receive(&app, &caller, request, SCENARIO_PARTS).await?;
    let id = publish_form(&app, &caller, form).await?;
    let scenario = app.records.community_scenario(&id).await?.ok_or_else(|| ApiError::not_found("scenario"))?;
    let body: CommunityScenarioDetail = detail(&app, &scenario, app.records.community_versions(&id).await?);
    let place = links::address(&app.settings, &format!("{}/{id}", uri.path().trim_end_matches('/')));
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(body)).into_response())
}

/// Rejects a publication that has to wait before its body is read.
pub(crate) async fn precheck_publication(app: &App, caller: &Caller, is_repeated: bool) -> Result<(), ApiError> {
    app.publishing_slots.precheck(&caller.key.account)?;
    // A repeated request gets its stored response, whatever the account has used up meanwhile.
    if is_repeated { Ok(()) } else { check_failed_publications(app, &caller.key.account).await }
}

/// Checks the scenario of a form and publishes it; returns its id.
pub(crate) async fn publish_form(app: &App, caller: &Caller, form: UploadForm) -> Result<ScenarioId, ApiError> {
    let tags = tags(&form)?;
    let place = app.publishing_slots.acquire(&caller.key.account)?;
    // While the slot is held, so that no other request of this account comes between the check and the record.
    check_failed_publications(app, &caller.key.account).await?;
    // On a separate task, so that a client that disconnects does not leave a scenario half published.
    let (runner, account) = (app.clone(), caller.key.account.clone());
    let published = tokio::spawn(async move {
        let published = publish(&runner, account.clone(), (form, place), tags).await;
        if published.as_ref().is_err_and(|failed| failed.counts) {
            runner.records.note_publishing_failure(&account, runner.clock.now()).await?;
        }
        published.map_err(|failed| failed.error)
    })
    .await;
    published.map_err(|e| ApiError::internal("publishing panicked", &e))?
}

/// A failed publication.
struct NotPublished {
    error: ApiError,
    /// True if the failure counts against the account's daily limit of failed publications.
    counts: bool,
}

impl<E: Into<ApiError>> From<E> for NotPublished {
    fn from(error: E) -> Self {
        let error = error.into();
        Self { counts: !error.is_server_error(), error }
    }
}

/// Returns an error if the account has reached its daily limit of failed publications.
async fn check_failed_publications(app: &App, account: &AccountId) -> Result<(), ApiError> {
    let (now, limit) = (app.clock.now(), app.settings.account.failed_publications_per_day);
    let failures = app.records.publishing_failures(account, now).await?;
    let (Some(frees_at), true) = (failures.frees_at, failures.count >= limit) else { return Ok(()) };
    let over = OverLimit::until("failed_publications_per_day", limit.into(), failures.count.into(), frees_at);
    let message = format!(
        "{limit} scenarios of your account were checked in the last 24 hours and could not be published; run \
         `assay scenario check` on yours first"
    );
    Err(ApiError::over_limit(&over, message, seconds_until(frees_at, now)))
}

/// Reads and validates the form's tags.
fn tags(form: &UploadForm) -> Result<Vec<String>, ApiError> {
    let text = form.text("tags").unwrap_or_default();
    let tags: Vec<String> = text.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
    check_tags(&tags).map_err(|problem| ApiError::invalid("tags", Some(text), format!("tags: {problem}")))?;
    Ok(tags)
}

/// Checks the scenario, stores its files and then records it, so that no scenario is listed before its files are on
/// disk.
async fn publish(
    app: &App,
    account: AccountId,
    (form, place): (UploadForm, AccountSlot),
    tags: Vec<String>,
) -> Result<ScenarioId, NotPublished> {
    let archive = form.archive().ok_or_else(|| {
        ApiError::invalid(FIELD, None, "scenario is missing: send a zip archive with scenario.toml in it")
    })?;
    let (publisher, owner) = (app.publisher.clone(), account.clone());
    let draft = blocking(move || publisher.open(&archive, &owner)).await?;
    let (id, version) = (draft.scenario.id.clone(), draft.scenario.version.clone());
    let limit = app.settings.account.publications_per_day;
    // Checked before the expensive work; recording the scenario checks again.
    let now = app.clock.now();
    refuse(app.records.check_publishable(&id, &version, now, limit).await?, (&id, &version), limit, now)?;
    let (publisher, files) = (app.publisher.clone(), app.scenario_files.clone());
    let draft = blocking(move || {
        // Held until the work is done.
        let _held = (place, form);
        let picture = publisher.check(&draft)?;
        let Draft { scenario, .. } = &draft;
        let robots = scenario.robot_folders();
        let source = VersionSource { scenario: &scenario.folder, robots: &robots, picture: picture.as_deref() };
        let kept = files.keep(scenario.digest, source);
        kept.map_err(|e| match is_disk_full(&e) {
            true => DraftFailure::Full,
            false => DraftFailure::Broken(format!("could not store its files: {e}")),
        })?;
        Ok(draft)
    })
    .await?;
    let mut all = draft.scenario.tags.clone();
    all.extend(tags);
    all.sort();
    all.dedup();
    check_tags(&all).map_err(|problem| ApiError::invalid("tags", None, format!("tags: {problem}")))?;
    let card = draft.scenario.community_card();
    let now = app.clock.now();
    let new = NewVersion { account, card, tags: all, published_at: now };
    refuse(app.records.publish_scenario(new, limit).await?, (&id, &version), limit, now)?;
    tracing::info!(scenario.id = %id, version, "published");
    Ok(id)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DraftFailure> + Send + 'static,
) -> Result<T, NotPublished> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|e| ApiError::internal("checking a scenario panicked", &e))?;
    // A check that was stopped may have used nearly all of its time, and a scenario may provoke that; so it counts,
    // although it may not be at fault.
    done.map_err(|failure| match failure {
        DraftFailure::Busy => NotPublished { error: failed(failure), counts: true },
        other => failed(other).into(),
    })
}

fn failed(failure: DraftFailure) -> ApiError {
    match failure {
        DraftFailure::Busy => {
            let message = "the scenario could not be checked: another process stopped the check, or the machine is too \
                           busy (less than 1/50 of a processor was left for it); try again later (this attempt counts \
                           against failed_publications_per_day)";
            ApiError::try_again(ErrorCode::Unavailable, message, PUBLISH_RETRY_S)
        }
        DraftFailure::Unavailable(message) => ApiError::try_again(ErrorCode::Unavailable, &message, PUBLISH_RETRY_S),
        DraftFailure::Full => upload_space::full(),
        DraftFailure::Archive(message) => ApiError::invalid(FIELD, None, message),
        DraftFailure::Fault(ScenarioFault { file, key, problem }) => {
            let place = key.as_ref().map_or_else(|| file.clone(), |key| format!("{file}: {key}"));
            ApiError::invalid(FIELD, None, format!("{place}: {problem}")).in_file(&file, key.as_deref())
        }
        DraftFailure::Broken(message) => {
            ApiError::internal("could not check a scenario", &std::io::Error::other(message))
        }
    }
}

/// Returns the time until `time` for `Retry-After`, in seconds, at least 1.
fn seconds_until(time: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(time.as_second() - now.as_second()).unwrap_or(1).max(1)
}

fn refuse(
    published: PublishOutcome,
    (id, version): (&ScenarioId, &str),
    limit: u32,
    now: Timestamp,
) -> Result<(), ApiError> {
    let message = match published {
        PublishOutcome::Done => return Ok(()),
        PublishOutcome::VersionExists => {
            format!("{id} {version} is already published and can't be changed; publish changes as a new version")
        }
        PublishOutcome::Reserved => format!("{id} was deleted, and its id can't be reused; choose another id"),
        PublishOutcome::TooMany { frees_at } => {
            let most = u64::from(limit);
            let Some(frees_at) = frees_at else {
                let over = OverLimit::when("publications_per_day", 0, 0, "when the operator raises the limit");
                let message = "the operator of this service does not allow publications";
                return Err(ApiError::over_limit(&over, message, DAY_RETRY_S));
            };
            let over = OverLimit::until("publications_per_day", most, most, frees_at);
            let message =
                format!("your account published {limit} versions in the last 24 hours; try again at {frees_at}");
            return Err(ApiError::over_limit(&over, message, seconds_until(frees_at, now)));
        }
    };
    Err(ApiError::new(ErrorCode::Conflict, message))
}
