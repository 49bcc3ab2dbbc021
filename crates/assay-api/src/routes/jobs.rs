//! Extractors for the job that the path of a request names. A job that does not exist, and one that the caller may not
//! access, are both NOT_FOUND; an erased one is GONE.
//!
//! Handlers of POST requests load the job by [`Verification::named`] or [`Submission::named`] after the body is read: a
//! repeated request gets its stored response, whatever has become of the job.

use std::marker::PhantomData;

use assay_model::{AccountId, EpisodeResult, JobId, JobKind, JobStatus};
use assay_store::JobRecord;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::erased;
use crate::http::{ApiError, Caller};
use crate::published::PublishedSubmission;
use crate::state::App;

/// A kind of access to a job.
pub(crate) trait JobAccess: Send + Sync + 'static {
    /// True if it includes the entries of closed seasons, of all accounts.
    const RELEASED: bool = false;

    /// Returns the account whose jobs the caller may access this way; `None` means all accounts.
    fn account(caller: &Caller) -> Option<&AccountId>;
}

/// Read access: the owner, reviewers and administrators.
#[derive(Debug)]
pub(crate) struct ReadAccess;

/// Read access to what a closed season releases: [`ReadAccess`], and every key for a COMPLETED entry once its season is
/// closed.
#[derive(Debug)]
pub(crate) struct ReleasedAccess;

/// Write access: the owner and administrators.
#[derive(Debug)]
pub(crate) struct WriteAccess;

impl JobAccess for ReadAccess {
    fn account(caller: &Caller) -> Option<&AccountId> {
        caller.read_scope()
    }
}

impl JobAccess for ReleasedAccess {
    const RELEASED: bool = true;

    fn account(caller: &Caller) -> Option<&AccountId> {
        caller.read_scope()
    }
}

impl JobAccess for WriteAccess {
    fn account(caller: &Caller) -> Option<&AccountId> {
        caller.write_scope()
    }
}

/// A verification. Submissions to the arena are not verifications.
#[derive(Debug)]
pub(crate) struct Verification<A> {
    pub(crate) record: JobRecord,
    access: PhantomData<A>,
}

/// A submission in its currently published state.
#[derive(Debug)]
pub(crate) struct Submission<A> {
    pub(crate) published: PublishedSubmission,
    access: PhantomData<A>,
}

/// The id of a job in the path, and who asks for it. Nothing is loaded yet.
#[derive(Debug)]
pub(crate) struct NamedJob {
    pub(crate) caller: Caller,
    pub(crate) id: JobId,
}

impl<A: JobAccess> Verification<A> {
    /// Loads the verification with the id from the path.
    pub(crate) async fn named(app: &App, caller: &Caller, id: &str) -> Result<Self, ApiError> {
        Self::load(app, caller, id.parse().map_err(|_| ApiError::not_found("job"))?).await
    }

    /// Loads the verification with this id.
    pub(crate) async fn load(app: &App, caller: &Caller, id: JobId) -> Result<Self, ApiError> {
        let found = app.records.job(A::account(caller), id).await?;
        let record = accessible(found, JobKind::Verify, "job")?;
        Ok(Self { record, access: PhantomData })
    }

    /// Loads the verification with this id, and its first `limit` results.
    pub(crate) async fn load_with_episodes(
        app: &App,
        caller: &Caller,
        id: JobId,
        limit: u32,
    ) -> Result<(Self, Vec<EpisodeResult>), ApiError> {
        let (found, episodes) = app.records.job_with_episodes(A::account(caller), id, limit).await?.unzip();
        let record = accessible(found, JobKind::Verify, "job")?;
        Ok((Self { record, access: PhantomData }, episodes.unwrap_or_default()))
    }
}

impl<A: JobAccess> Submission<A> {
    /// Loads the submission with the id from the path.
    pub(crate) async fn named(app: &App, caller: &Caller, id: &str) -> Result<Self, ApiError> {
        Self::load(app, caller, id.parse().map_err(|_| ApiError::not_found("submission"))?).await
    }

    /// Loads the submission with this id.
    pub(crate) async fn load(app: &App, caller: &Caller, id: JobId) -> Result<Self, ApiError> {
        let found = app.records.job(A::account(caller), id).await?;
        if found.is_none() && A::RELEASED {
            return Self::load_released(app, id).await;
        }
        let record = accessible(found, JobKind::Submission, "submission")?;
        Ok(Self {
            published: PublishedSubmission::read(&*app.records, record, app.clock.now()).await?,
            access: PhantomData,
        })
    }

    /// Loads a submission of another account, if it is an entry of a closed season.
    async fn load_released(app: &App, id: JobId) -> Result<Self, ApiError> {
        let missing = || ApiError::not_found("submission");
        let found = app.records.job(None, id).await?.filter(|job| job.header.kind() == JobKind::Submission);
        let published = PublishedSubmission::read(&*app.records, found.ok_or_else(missing)?, app.clock.now()).await?;
        if published.is_open() || published.status() != JobStatus::Completed {
            return Err(missing());
        }
        erased::none(published.record())?;
        Ok(Self { published, access: PhantomData })
    }
}

impl<A: JobAccess> FromRequestParts<App> for Verification<A> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (caller, id) = caller_and_id(parts, app).await?;
        Self::named(app, &caller, &id).await
    }
}

impl<A: JobAccess> FromRequestParts<App> for Submission<A> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (caller, id) = caller_and_id(parts, app).await?;
        Self::named(app, &caller, &id).await
    }
}

impl FromRequestParts<App> for NamedJob {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (caller, id) = caller_and_id(parts, app).await?;
        Ok(Self { caller, id: id.parse().map_err(|_| ApiError::not_found("job"))? })
    }
}

async fn caller_and_id(parts: &mut Parts, app: &App) -> Result<(Caller, String), ApiError> {
    let path = Path::<String>::from_request_parts(parts, app).await;
    let Path(id) = path.map_err(|rejection| ApiError::from_status(rejection.status()))?;
    let caller = parts.extensions.get::<Caller>().cloned();
    Ok((caller.ok_or_else(|| ApiError::unauthorized("an API key is needed"))?, id))
}

/// Returns the job that was found, if it is of this kind and was not erased.
fn accessible(found: Option<JobRecord>, kind: JobKind, what: &str) -> Result<JobRecord, ApiError> {
    let found = found.filter(|job| job.header.kind() == kind).ok_or_else(|| ApiError::not_found(what))?;
    erased::none(&found)?;
    Ok(found)
}
