//! `GET /submissions/{id}/episodes`: the episodes of a submission, once its season is closed.

use axum::extract::{RawQuery, State};

use crate::http::{ApiError, Json};
use crate::routes::jobs::{ReleasedAccess, Submission};
use crate::routes::openapi::body::schema_of;
use crate::routes::submissions::view::{SubmissionRun, released};
use crate::routes::verify::episodes::{EpisodePage, page};
use crate::state::App;

/// List the episodes of a submission
///
/// Returns a page of episodes with clauses, violations and evidence. Until the season is closed, the response is 403.
#[utoipa::path(
    get, path = "/submissions/{id}/episodes", operation_id = "submission_episodes", tag = "arena",
    params(
        ("id" = uuid::Uuid, Path, description = "The submission's id"),
        ("run" = inline(Option<SubmissionRun>), Query, description = "`closing` selects the rerun of a top entry on fresh worlds at the season's end; `season` if absent"),
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of episodes on the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Number of episodes to skip", minimum = 0, maximum = 2_147_483_647),
    ),
    responses((status = 200, description = "The last episode is the showcase; a rerun at the end of a season has none", body = ref(schema_of::<EpisodePage>())), (status = 400), (status = 403), (status = 404), (status = 409), (status = 410)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Submission { published, .. }: Submission<ReleasedAccess>,
    RawQuery(query): RawQuery,
) -> Result<Json<EpisodePage>, ApiError> {
    let job = released(&app, published, SubmissionRun::of(query.as_deref())?, "episodes are shown").await?;
    page(&app, &job, query.as_deref()).await
}
