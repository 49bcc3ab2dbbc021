//! `GET /verify/{job_id}`: the state and result of a job.

use assay_model::JobId;
use assay_store::{JobRecord, JobState};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use crate::http::{ApiError, Caller, Json, etag_matches, not_modified, set_etag, tag};
use crate::routes::jobs::{NamedJob, ReadAccess, Verification};
use crate::routes::openapi::body::schema_of;
use crate::signed_urls::LIFETIME;
use crate::state::App;
use crate::views::{JobView, MAX_EPISODES_SHOWN};

/// Get a verification
///
/// Returns the state, progress, verdict, scores, statistics and episodes. While the job is queued, also its position
/// and the estimated time until it ends.
#[utoipa::path(
    get, path = "/verify/{job_id}", operation_id = "verification", tag = "verify",
    params(("job_id" = uuid::Uuid, Path, description = "The job's id")),
    responses((status = 200, description = "The job, with up to 100 episodes", body = ref(schema_of::<JobView>())),
        (status = 304, description = "The job has ended, and the client already has this version"), (status = 400), (status = 404), (status = 410)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    NamedJob { caller, id }: NamedJob,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    // A client that may already have this version probably needs no episodes.
    let (record, episodes) = match headers.contains_key(header::IF_NONE_MATCH) {
        true => (Verification::<ReadAccess>::load(&app, &caller, id).await?.record, None),
        false => {
            let loading = Verification::<ReadAccess>::load_with_episodes(&app, &caller, id, MAX_EPISODES_SHOWN);
            let (verification, episodes) = loading.await?;
            (verification.record, Some(episodes))
        }
    };
    caller.record_access(&app, (&record.account, &id), "read a job").await?;
    let tag = record.state.status().is_final().then(|| tag_of(&app, &record));
    if let Some(tag) = tag.as_ref().filter(|tag| etag_matches(headers.get_all(header::IF_NONE_MATCH), tag)) {
        return Ok(not_modified(tag));
    }
    let view = match episodes {
        Some(episodes) => JobView::load(&app, &record, episodes).await?,
        None => with_episodes(&app, &record).await?,
    };
    let mut response = Json(view).into_response();
    if let Some(tag) = tag {
        set_etag(response.headers_mut(), &tag);
    }
    Ok(response)
}

/// Returns the entity tag of a job that has ended. Its content changes only by a review, a removal, a rendering, or the
/// expiry of the URLs in it, so the tag also changes with time.
fn tag_of(app: &App, record: &JobRecord) -> String {
    let window = app.clock.now().as_second().div_euclid(LIFETIME.as_secs() / 2);
    let review = record.review.as_ref().map(|review| (review.at, &review.decision));
    let JobRecord { header, removed, renders, .. } = record;
    tag(format!("{} {:?} {review:?} {removed:?} {renders:?} {window}", header.job_id, record.state.status()).as_bytes())
}

/// Returns the job object of a verification in its current state.
pub(in crate::routes) async fn show(app: &App, caller: &Caller, id: JobId) -> Result<JobView, ApiError> {
    let Verification { record, .. } = Verification::<ReadAccess>::load(app, caller, id).await?;
    caller.record_access(app, (&record.account, &id), "read a job").await?;
    with_episodes(app, &record).await
}

/// Returns the job object of a verification in its accepted state: QUEUED, with its position in the queue, even if a
/// worker has claimed the job meanwhile.
pub(in crate::routes) async fn show_accepted(app: &App, caller: &Caller, id: JobId) -> Result<JobView, ApiError> {
    let Verification { mut record, .. } = Verification::<ReadAccess>::load(app, caller, id).await?;
    (record.state, record.episodes_done) = (JobState::Queued, 0);
    JobView::load(app, &record, Vec::new()).await
}

async fn with_episodes(app: &App, record: &JobRecord) -> Result<JobView, ApiError> {
    let episodes = match record.episodes_done {
        0 => Vec::new(),
        _ => app.records.episodes(record.header.job_id, 0, MAX_EPISODES_SHOWN).await?,
    };
    JobView::load(app, record, episodes).await
}
