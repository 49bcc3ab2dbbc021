//! The forecast of all jobs, made for everybody at once.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_model::{Clock, JobId, JobStatus};
use assay_store::{JobRecord, Records, StoreError};
use tokio::sync::watch;

use super::forecast::{Forecast, forecast, tenths};
use crate::ApiSettings;

/// Nobody is told of a forecast that is older: whoever asks waits for a new one.
const MAX_AGE: Duration = Duration::from_secs(1);
/// One that is younger is good enough, whatever changed.
const MIN_AGE: Duration = Duration::from_millis(100);
/// Making forecasts may take this share of the time, one part in so many, unless one would get older than half of
/// [`MAX_AGE`].
const SHARE: u32 = 20;
/// A forecast that takes longer is made while those who ask are told of the last one.
const QUICK: Duration = Duration::from_millis(2);
/// Waiting shards that are looked at. Jobs behind them have a place in the line, and nothing is said of their end.
const MAX_WAITING: u32 = 10_000;

/// What is ahead of the jobs of this instance; shared by all its clones.
#[derive(Debug, Clone)]
pub struct Outlook(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    lanes: NonZeroU32,
    last: Mutex<Option<Made>>,
    /// Held by who makes the next.
    making: Arc<tokio::sync::Mutex<()>>,
}

/// What is ahead of everybody.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// In the order of their ids.
    jobs: Vec<(JobId, Forecast)>,
    /// How many of them are QUEUED.
    queued: usize,
    /// QUEUED jobs that are younger than those, in the order of their ids.
    later: Vec<JobId>,
    conclusion_s: Option<f64>,
}

#[derive(Debug, Clone)]
struct Made {
    ahead: Arc<Ahead>,
    at: Instant,
    took: Duration,
    changes: watch::Receiver<()>,
}

impl Outlook {
    /// Of an instance with so many lanes.
    #[must_use]
    pub fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>, lanes: NonZeroU32) -> Self {
        Self(Arc::new(Inner { records, clock, lanes, last: Mutex::default(), making: Arc::default() }))
    }

    /// What is ahead of all jobs that have not ended.
    pub(crate) async fn ahead(&self) -> Result<Arc<Ahead>, StoreError> {
        if let Some(made) = self.0.last() {
            if made.is_good_enough() {
                return Ok(made.ahead);
            }
            if made.at.elapsed() < MAX_AGE && made.took > QUICK {
                self.make_behind();
                return Ok(made.ahead);
            }
        }
        let _making = self.0.making.lock().await;
        match self.0.last().filter(Made::is_good_enough) {
            // Somebody else has just made it.
            Some(made) => Ok(made.ahead),
            None => self.0.make().await,
        }
    }

    /// Sees to it that somebody makes the next.
    fn make_behind(&self) {
        let Ok(making) = Arc::clone(&self.0.making).try_lock_owned() else { return };
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _making = making;
            if let Err(error) = inner.make().await {
                tracing::warn!(%error, "what is ahead of the jobs could not be told");
            }
        });
    }

    /// What is ahead of a job; nothing of one that has ended.
    pub(crate) async fn of(&self, record: &JobRecord) -> Result<Forecast, StoreError> {
        let status = record.state.status();
        if status.is_final() {
            return Ok(Forecast::default());
        }
        let (ahead, id) = (self.ahead().await?, record.header.job_id);
        let mut job = ahead.of(id, status);
        job.remote = record.policy_path.is_none();
        if status == JobStatus::Queued && job.position.is_none() {
            job.position = Some(self.place_by_age(&ahead, id).await?);
        }
        Ok(job)
    }

    /// Of a QUEUED job that is too new for the forecast, or too far behind.
    async fn place_by_age(&self, ahead: &Ahead, job: JobId) -> Result<u32, StoreError> {
        let place = |behind: usize| u32::try_from(ahead.queued + behind).unwrap_or(u32::MAX).max(1);
        if let Ok(at) = ahead.later.binary_search(&job) {
            return Ok(place(at + 1));
        }
        let newest = ahead.later.last().or(ahead.jobs.last().map(|(job, _)| job));
        let newer = self.0.records.queued_between(newest.copied(), job).await?;
        Ok(place(ahead.later.len() + usize::try_from(newer).unwrap_or(usize::MAX / 2)))
    }
}

impl Inner {
    fn last(&self) -> Option<Made> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn make(&self) -> Result<Arc<Ahead>, StoreError> {
        let at = Instant::now();
        let mut changes = self.records.changes();
        changes.mark_unchanged();
        let line = self.records.line(MAX_WAITING).await?;
        let (lanes, now) = (self.lanes, self.clock.now());
        let played = tokio::task::spawn_blocking(move || {
            let jobs = forecast(&line, lanes, now);
            let queued = jobs.iter().filter(|(_, job)| job.position.is_some()).count();
            Ahead { jobs, queued, later: line.later, conclusion_s: line.conclusion_s }
        });
        let ahead = Arc::new(played.await.map_err(|_| StoreError::Closed)?);
        let made = Made { ahead: Arc::clone(&ahead), at, took: at.elapsed(), changes };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(ahead)
    }
}

impl Ahead {
    /// What is ahead of a job in this state.
    pub(crate) fn of(&self, job: JobId, status: JobStatus) -> Forecast {
        let found = self.jobs.binary_search_by_key(&job, |(known, _)| *known);
        let mut found = found.ok().and_then(|place| self.jobs.get(place)).map(|(_, job)| *job).unwrap_or_default();
        found.position = found.position.filter(|_| status == JobStatus::Queued);
        match status {
            JobStatus::Queued | JobStatus::Running => found,
            JobStatus::Judging => Forecast { eta_s: self.conclusion_s.map(tenths), ..found },
            JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled => Forecast::default(),
        }
    }
}

impl Made {
    fn is_good_enough(&self) -> bool {
        let age = self.at.elapsed();
        let changed = self.changes.has_changed().unwrap_or(true);
        let rest = MIN_AGE.max(self.took * SHARE).min(MAX_AGE / 2);
        age < rest || (age < MAX_AGE && !changed)
    }
}

impl Forecast {
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
