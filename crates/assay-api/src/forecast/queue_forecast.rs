//! The forecast of all jobs, computed once and cached for all requests.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_model::{Clock, JobId, JobStatus};
use assay_store::{JobRecord, Records, Site, StoreError};
use tokio::sync::watch;

use super::job_forecast::{JobForecast, NoEstimate, tenths};
use super::simulation::simulate_queue;
use crate::worker_fleet::WorkerFleet;

/// Oldest forecast that is returned; a request for a newer one waits.
const MAX_AGE: Duration = Duration::from_secs(1);
/// A younger forecast is reused even if jobs have changed.
const MIN_AGE: Duration = Duration::from_millis(100);
/// Forecasts may take at most one part in this many of the time, unless one would get older than half of [`MAX_AGE`].
const SHARE: u32 = 20;
/// A forecast that takes longer is computed in the background while requests get the previous one.
const QUICK: Duration = Duration::from_millis(2);
/// Maximum number of waiting shards that are simulated. Jobs behind them have a position, but no estimated end.
const MAX_WAITING: u32 = 10_000;
/// Maximum number of submissions whose published forecasts are cached; beyond it, the cache is cleared.
const MAX_PUBLISHED: usize = 10_000;

/// The forecast for the jobs of this instance; shared by all its clones.
#[derive(Debug, Clone)]
pub struct QueueForecast(Arc<QueueForecastState>);

#[derive(Debug)]
struct QueueForecastState {
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    /// Lanes of this server.
    lanes: NonZeroU32,
    /// Lanes of workers on other hosts.
    fleet: WorkerFleet,
    /// Lanes of other servers.
    site: Site,
    last: Mutex<Option<CachedForecast>>,
    /// Published forecasts of submissions.
    published: Mutex<HashMap<JobId, PublishedForecast>>,
    runs_uploads: bool,
    /// Held while a forecast is computed.
    computing: Arc<tokio::sync::Mutex<()>>,
}

/// The published forecast of a submission at a point of its grid.
#[derive(Debug, Clone)]
struct PublishedForecast {
    point: u32,
    forecast: JobForecast,
}

/// The forecast of all jobs at one time.
#[derive(Debug)]
pub(crate) struct ForecastSnapshot {
    /// Ordered by id.
    jobs: Vec<(JobId, JobForecast)>,
    /// Number of jobs among them that are QUEUED.
    queued: usize,
    /// QUEUED jobs younger than those, ordered by id.
    later: Vec<JobId>,
    conclusion_s: Option<f64>,
    runs_uploads: bool,
    /// The newest job behind these whose position was counted, and the number of QUEUED jobs behind them up to it.
    counted: Mutex<Option<(JobId, u32)>>,
}

#[derive(Debug, Clone)]
struct CachedForecast {
    snapshot: Arc<ForecastSnapshot>,
    at: Instant,
    took: Duration,
    changes: watch::Receiver<()>,
}

impl QueueForecast {
    /// Creates the forecast of an instance with this number of lanes.
    #[must_use]
    pub fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>, lanes: NonZeroU32) -> Self {
        Self::with_uploads(records, clock, lanes, true)
    }

    /// Creates the forecast of an instance whose lanes may not run uploaded policies.
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
            fleet: WorkerFleet::default(),
            site: Site::default(),
            last: Mutex::default(),
            published: Mutex::default(),
            runs_uploads,
            computing: Arc::default(),
        }))
    }

    /// Adds the lanes of workers on other hosts and of other servers. Call it before the first use.
    #[must_use]
    pub fn with(mut self, fleet: WorkerFleet, site: Site) -> Self {
        if let Some(state) = Arc::get_mut(&mut self.0) {
            (state.fleet, state.site) = (fleet, site);
        }
        self
    }

    /// Returns the forecast of all jobs that have not ended.
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
            // Another request has just computed it.
            Some(cached) => Ok(cached.snapshot),
            None => self.0.compute().await,
        }
    }

    /// Starts computing the next forecast, unless this is already in progress.
    fn refresh_in_background(&self) {
        let Ok(computing) = Arc::clone(&self.0.computing).try_lock_owned() else { return };
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _computing = computing;
            if let Err(error) = inner.compute().await {
                error.log("could not compute the forecast of the queue");
            }
        });
    }

    /// Returns the forecast of a job; an empty one if the job has ended.
    pub(crate) async fn for_job(&self, record: &JobRecord) -> Result<JobForecast, StoreError> {
        let status = record.state.status();
        if status.is_final() {
            return Ok(JobForecast::default());
        }
        let (snapshot, id) = (self.snapshot().await?, record.header.job_id);
        let mut job = snapshot.of(id, status);
        job.remote = record.policy_path.is_none();
        let labels = self.0.fleet.missing_labels(&record.header.labels);
        if labels.is_some() || self.0.site.others().iter().all(|server| server.lanes == 0) {
            let runtime = record.header.runtime.as_ref().map(|runtime| runtime.sha256);
            job.missing = labels.or_else(|| self.0.fleet.missing(runtime));
        }
        if job.remote {
            // The snapshot may not contain the job yet, and then assumes that it needs a worker.
            job.no_estimate = job.no_estimate.filter(|reason| *reason != NoEstimate::NoWorker);
        }
        if status == JobStatus::Queued && job.position.is_none() {
            job.position = Some(self.position_by_age(&snapshot, id).await?);
        }
        Ok(job)
    }

    /// Returns the forecast that is published for a submission in this (published) state at a point of its grid.
    /// Repeated calls for one point return the same forecast.
    pub(crate) async fn published(&self, id: JobId, status: JobStatus, point: u32) -> Result<JobForecast, StoreError> {
        if status.is_final() {
            return Ok(JobForecast::default());
        }
        if let Some(published) = self.0.published().get(&id)
            && published.point == point
        {
            return Ok(published.forecast.clone());
        }
        let mut snapshot = self.snapshot().await?;
        if !snapshot.contains(id) && status != JobStatus::Judging {
            // The job is younger than the snapshot. The result is fixed until the next point, so a new one is computed.
            let _computing = self.0.computing.lock().await;
            snapshot = self.0.compute().await?;
        }
        // It is not published whether a lane works on the job.
        let mut forecast = JobForecast { is_idle: false, ..snapshot.of(id, status) };
        if status == JobStatus::Queued && forecast.position.is_none() {
            forecast.position = Some(self.position_by_age(&snapshot, id).await?);
        }
        let new = PublishedForecast { point, forecast: forecast.clone() };
        let mut published = self.0.published();
        if published.len() >= MAX_PUBLISHED {
            published.clear();
        }
        // Another request may have inserted one meanwhile.
        let cached = published.entry(id).or_insert(new.clone());
        if cached.point < point {
            *cached = new;
        }
        Ok(if cached.point == point { cached.forecast.clone() } else { forecast })
    }

    /// Returns the position of a QUEUED job that is too new for the snapshot, or too far behind.
    async fn position_by_age(&self, snapshot: &ForecastSnapshot, job: JobId) -> Result<u32, StoreError> {
        let position = |behind: usize| u32::try_from(snapshot.queued + behind).unwrap_or(u32::MAX).max(1);
        if let Ok(at) = snapshot.later.binary_search(&job) {
            return Ok(position(at + 1));
        }
        let newest = snapshot.later.last().or(snapshot.jobs.last().map(|(job, _)| job)).copied();
        // Counted on from the last one: under load, many jobs follow within the age of a snapshot.
        let (from, before) = match snapshot.counted().filter(|(counted, _)| *counted < job) {
            Some((counted, before)) => (Some(counted), before),
            None => (newest, 0),
        };
        let newer = self.0.records.queued_between(from, job).await?;
        let behind = before.saturating_add(newer);
        snapshot.count(job, behind);
        Ok(position(snapshot.later.len() + usize::try_from(behind).unwrap_or(usize::MAX / 2)))
    }
}

impl QueueForecastState {
    fn published(&self) -> MutexGuard<'_, HashMap<JobId, PublishedForecast>> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> Option<CachedForecast> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn compute(&self) -> Result<Arc<ForecastSnapshot>, StoreError> {
        let at = Instant::now();
        let mut changes = self.records.changes();
        changes.mark_unchanged();
        let (now, runs_uploads) = (self.clock.now(), self.runs_uploads);
        let elsewhere = self.site.others().iter().map(|server| server.lanes).fold(0, u32::saturating_add);
        let lanes = self.lanes.saturating_add(self.fleet.lanes()).saturating_add(elsewhere);
        let line = self.records.queue_snapshot(MAX_WAITING, now).await?;
        let simulated = tokio::task::spawn_blocking(move || {
            let jobs = simulate_queue(&line, lanes, now);
            let queued = jobs.iter().filter(|(_, job)| job.position.is_some()).count();
            let (later, conclusion_s) = (line.later, line.conclusion_s);
            ForecastSnapshot { jobs, queued, later, conclusion_s, runs_uploads, counted: Mutex::default() }
        });
        let snapshot = Arc::new(simulated.await.map_err(|_| StoreError::Closed)?);
        let cached = CachedForecast { snapshot: Arc::clone(&snapshot), at, took: at.elapsed(), changes };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
        Ok(snapshot)
    }
}

impl ForecastSnapshot {
    /// Returns the forecast of a job in this state.
    pub(crate) fn of(&self, job: JobId, status: JobStatus) -> JobForecast {
        let found = self.jobs.binary_search_by_key(&job, |(known, _)| *known);
        let mut found =
            found.ok().and_then(|place| self.jobs.get(place)).map(|(_, job)| job.clone()).unwrap_or_default();
        found.position = found.position.filter(|_| status == JobStatus::Queued);
        match status {
            JobStatus::Queued | JobStatus::Running => {
                self.clear_estimate_without_worker(&mut found);
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
    fn counted(&self) -> Option<(JobId, u32)> {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers that `behind` jobs are behind these up to `job`.
    fn count(&self, job: JobId, behind: u32) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.is_none_or(|(known, _)| known < job) {
            *counted = Some((job, behind));
        }
    }

    fn contains(&self, job: JobId) -> bool {
        self.jobs.binary_search_by_key(&job, |(known, _)| *known).is_ok() || self.later.binary_search(&job).is_ok()
    }

    /// Clears the estimate of a job with an uploaded policy if no worker runs these.
    fn clear_estimate_without_worker(&self, job: &mut JobForecast) {
        if !self.runs_uploads && !job.remote {
            (job.eta_s, job.no_estimate) = (None, Some(NoEstimate::NoWorker));
        }
    }
}

impl CachedForecast {
    fn is_fresh(&self) -> bool {
        let age = self.at.elapsed();
        let changed = self.changes.has_changed().unwrap_or(true);
        let min_age = MIN_AGE.max(self.took * SHARE).min(MAX_AGE / 2);
        age < min_age || (age < MAX_AGE && !changed)
    }
}
