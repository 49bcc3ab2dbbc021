//! The forecast of all jobs, cached for everybody at once.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_model::{Clock, JobId, JobStatus};
use assay_store::{JobRecord, Records, StoreError};
use tokio::sync::watch;

use super::simulation::{JobForecast, NoEstimate, simulate_queue, tenths};
use crate::ApiSettings;

/// Nobody is told of a forecast that is older: whoever asks waits for a new one.
const MAX_AGE: Duration = Duration::from_secs(1);
/// One that is younger is good enough, whatever changed.
const MIN_AGE: Duration = Duration::from_millis(100);
/// Making forecasts may take this share of the time, one part in so many, unless one would get older than half of
/// [`MAX_AGE`].
const SHARE: u32 = 20;
/// A forecast that takes longer is cached while those who ask are told of the last one.
const QUICK: Duration = Duration::from_millis(2);
/// Waiting shards that are looked at. Jobs behind them have a place in the line, and nothing is said of their end.
const MAX_WAITING: u32 = 10_000;
/// Submissions whose published forecasts are kept; over it all are cached anew.
const MAX_PUBLISHED: usize = 10_000;

/// What is ahead of the jobs of this instance; shared by all its clones.
#[derive(Debug, Clone)]
pub struct QueueForecast(Arc<QueueForecastState>);

#[derive(Debug)]
struct QueueForecastState {
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    lanes: NonZeroU32,
    last: Mutex<Option<CachedForecast>>,
    /// Published estimates of submissions, each with the grid point it was cached for.
    published: Mutex<HashMap<JobId, (u32, JobForecast)>>,
    runs_uploads: bool,
    /// Held by who makes the next.
    computing: Arc<tokio::sync::Mutex<()>>,
}

/// What is ahead of everybody.
#[derive(Debug)]
pub(crate) struct ForecastSnapshot {
    /// In the order of their ids.
    jobs: Vec<(JobId, JobForecast)>,
    /// How many of them are QUEUED.
    queued: usize,
    /// QUEUED jobs that are younger than those, in the order of their ids.
    later: Vec<JobId>,
    conclusion_s: Option<f64>,
    runs_uploads: bool,
}

#[derive(Debug, Clone)]
struct CachedForecast {
    snapshot: Arc<ForecastSnapshot>,
    at: Instant,
    took: Duration,
    changes: watch::Receiver<()>,
}

impl QueueForecast {
    /// Of an instance with so many lanes.
    #[must_use]
    pub fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>, lanes: NonZeroU32) -> Self {
        Self::with_uploads(records, clock, lanes, true)
    }

    /// Of an instance with so many lanes, which run uploaded policies or do not.
    #[must_use]
    pub fn with_uploads(
        records: Arc<dyn Records>,
        clock: Arc<dyn Clock>,
        lanes: NonZeroU32,
        runs_uploads: bool,
    ) -> Self {
        Self(Arc::new(QueueForecastState {
            records,
            clock,
            lanes,
            last: Mutex::default(),
            published: Mutex::default(),
            runs_uploads,
            computing: Arc::default(),
        }))
    }

    /// What is ahead of all jobs that have not ended.
    pub(crate) async fn snapshot(&self) -> Result<Arc<ForecastSnapshot>, StoreError> {
        if let Some(cached) = self.0.last() {
            if cached.is_fresh() {
                return Ok(cached.snapshot);
            }
            if cached.at.elapsed() < MAX_AGE && cached.took > QUICK {
                self.refresh_in_background();
                return Ok(cached.snapshot);
            }
        }
        let _computing = self.0.computing.lock().await;
        match self.0.last().filter(CachedForecast::is_fresh) {
            // Somebody else has just cached it.
            Some(cached) => Ok(cached.snapshot),
            None => self.0.compute().await,
        }
    }

    /// Sees to it that somebody makes the next.
    fn refresh_in_background(&self) {
        let Ok(computing) = Arc::clone(&self.0.computing).try_lock_owned() else { return };
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _computing = computing;
            if let Err(error) = inner.compute().await {
                error.log("what is ahead of the jobs could not be told");
            }
        });
    }

    /// What is ahead of a job; nothing of one that has ended.
    pub(crate) async fn for_job(&self, record: &JobRecord) -> Result<JobForecast, StoreError> {
        let status = record.state.status();
        if status.is_final() {
            return Ok(JobForecast::default());
        }
        let (ahead, id) = (self.snapshot().await?, record.header.job_id);
        let mut job = ahead.of(id, status);
        job.remote = record.policy_path.is_none();
        if job.remote {
            // The forecast may not know it yet, and takes it for one that needs a worker.
            job.no_estimate = job.no_estimate.filter(|reason| *reason != NoEstimate::NoWorker);
        }
        if status == JobStatus::Queued && job.position.is_none() {
            job.position = Some(self.position_by_age(&ahead, id).await?);
        }
        Ok(job)
    }

    /// Returns the estimate that is published for a submission in this (published) state at a point of its grid. Repeated
    /// calls for one point return the same estimate.
    pub(crate) async fn published(&self, id: JobId, status: JobStatus, point: u32) -> Result<JobForecast, StoreError> {
        if status.is_final() {
            return Ok(JobForecast::default());
        }
        if let Some((of, forecast)) = self.0.published().get(&id)
            && *of == point
        {
            return Ok(*forecast);
        }
        let mut ahead = self.snapshot().await?;
        if !ahead.knows(id) && status != JobStatus::Judging {
            // It is younger than the forecast. The answer stands until the next point, so a new forecast is cached.
            let _computing = self.0.computing.lock().await;
            ahead = self.0.compute().await?;
        }
        // Whether a lane works on it is not published.
        let mut job = JobForecast { is_idle: false, ..ahead.of(id, status) };
        if status == JobStatus::Queued && job.position.is_none() {
            job.position = Some(self.position_by_age(&ahead, id).await?);
        }
        let mut published = self.0.published();
        if published.len() >= MAX_PUBLISHED {
            published.clear();
        }
        // Another request may have been first.
        let (of, forecast) = *published
            .entry(id)
            .and_modify(|kept| {
                if kept.0 < point {
                    *kept = (point, job)
                }
            })
            .or_insert((point, job));
        Ok(if of == point { forecast } else { job })
    }

    /// Of a QUEUED job that is too new for the forecast, or too far behind.
    async fn position_by_age(&self, ahead: &ForecastSnapshot, job: JobId) -> Result<u32, StoreError> {
        let place = |behind: usize| u32::try_from(ahead.queued + behind).unwrap_or(u32::MAX).max(1);
        if let Ok(at) = ahead.later.binary_search(&job) {
            return Ok(place(at + 1));
        }
        let newest = ahead.later.last().or(ahead.jobs.last().map(|(job, _)| job));
        let newer = self.0.records.queued_between(newest.copied(), job).await?;
        Ok(place(ahead.later.len() + usize::try_from(newer).unwrap_or(usize::MAX / 2)))
    }
}

impl QueueForecastState {
    fn published(&self) -> MutexGuard<'_, HashMap<JobId, (u32, JobForecast)>> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> Option<CachedForecast> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn compute(&self) -> Result<Arc<ForecastSnapshot>, StoreError> {
        let at = Instant::now();
        let mut changes = self.records.changes();
        changes.mark_unchanged();
        let (lanes, now, runs_uploads) = (self.lanes, self.clock.now(), self.runs_uploads);
        let line = self.records.line(MAX_WAITING, now).await?;
        let simulated = tokio::task::spawn_blocking(move || {
            let jobs = simulate_queue(&line, lanes, now);
            let queued = jobs.iter().filter(|(_, job)| job.position.is_some()).count();
            ForecastSnapshot { jobs, queued, later: line.later, conclusion_s: line.conclusion_s, runs_uploads }
        });
        let snapshot = Arc::new(simulated.await.map_err(|_| StoreError::Closed)?);
        let cached = CachedForecast { snapshot: Arc::clone(&snapshot), at, took: at.elapsed(), changes };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
        Ok(snapshot)
    }
}

impl ForecastSnapshot {
    /// What is ahead of a job in this state.
    pub(crate) fn of(&self, job: JobId, status: JobStatus) -> JobForecast {
        let found = self.jobs.binary_search_by_key(&job, |(known, _)| *known);
        let mut found = found.ok().and_then(|place| self.jobs.get(place)).map(|(_, job)| *job).unwrap_or_default();
        found.position = found.position.filter(|_| status == JobStatus::Queued);
        match status {
            JobStatus::Queued | JobStatus::Running => {
                self.without_worker(&mut found);
                found
            }
            JobStatus::Judging => {
                let no_estimate = self.conclusion_s.is_none().then_some(NoEstimate::Conclusion);
                JobForecast { eta_s: self.conclusion_s.map(tenths), no_estimate, ..found }
            }
            JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled => JobForecast::default(),
        }
    }
}

impl ForecastSnapshot {
    fn knows(&self, job: JobId) -> bool {
        self.jobs.binary_search_by_key(&job, |(known, _)| *known).is_ok() || self.later.binary_search(&job).is_ok()
    }

    /// Where no worker runs uploaded policies, such a job has no end that could be estimated.
    fn without_worker(&self, job: &mut JobForecast) {
        if !self.runs_uploads && !job.remote {
            (job.eta_s, job.no_estimate) = (None, Some(NoEstimate::NoWorker));
        }
    }
}

impl CachedForecast {
    fn is_fresh(&self) -> bool {
        let age = self.at.elapsed();
        let changed = self.changes.has_changed().unwrap_or(true);
        let rest = MIN_AGE.max(self.took * SHARE).min(MAX_AGE / 2);
        age < rest || (age < MAX_AGE && !changed)
    }
}

impl JobForecast {
    /// Returns the reason why a job in this state has no estimate; `None` where it has one, or has ended.
    pub(crate) fn eta_reason(&self, status: JobStatus) -> Option<&'static str> {
        if status.is_final() || self.eta_s.is_some() {
            return None;
        }
        Some(self.no_estimate.map_or("it has just been accepted; the estimate follows", NoEstimate::text))
    }

    /// What a job in this state waits for.
    pub(crate) fn waiting_for(&self, status: JobStatus, settings: &ApiSettings) -> Option<&'static str> {
        match status {
            JobStatus::Queued | JobStatus::Running if !self.remote && !settings.runs_uploads => {
                Some("a worker that runs uploaded policies; this one does not")
            }
            JobStatus::Queued if self.remote => Some("a free place among the jobs of policy servers"),
            JobStatus::Queued => Some("a free lane"),
            JobStatus::Running if self.is_idle => Some("a free lane, to go on"),
            JobStatus::Running => self.remote.then_some("its policy server"),
            JobStatus::Judging if settings.second_judge => Some("the second judge, then the conclusion"),
            JobStatus::Judging => Some("the conclusion"),
            JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled => None,
        }
    }
}
