//! The forecast of all jobs, made for everybody at once.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::{Clock, JobId, JobStatus};
use assay_store::{JobRecord, Records, StoreError};
use tokio::sync::{Mutex, watch};

use super::forecast::{Forecast, forecast, tenths};
use crate::ApiSettings;

/// A forecast that is older is made again even if nothing is known to have changed: time goes on.
const MAX_AGE: Duration = Duration::from_secs(1);
/// One that is younger is good enough, whatever changed.
const MIN_AGE: Duration = Duration::from_millis(100);
/// Making forecasts may take this share of the time, one part in so many, unless one would get older than [`MAX_AGE`].
const SHARE: u32 = 20;
/// Waiting shards that are looked at. Jobs behind them have a place in the line, and nothing is said of their end.
const MAX_WAITING: u32 = 10_000;

/// What is ahead of the jobs of this instance; shared by all its clones.
#[derive(Debug, Clone)]
pub struct Outlook {
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    lanes: NonZeroU32,
    last: Arc<Mutex<Option<Made>>>,
}

/// What is ahead of everybody.
#[derive(Debug)]
pub(crate) struct Ahead {
    jobs: HashMap<JobId, Forecast>,
    conclusion_s: Option<f64>,
}

#[derive(Debug)]
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
        Self { records, clock, lanes, last: Arc::default() }
    }

    /// What is ahead of all jobs that have not ended.
    pub(crate) async fn ahead(&self) -> Result<Arc<Ahead>, StoreError> {
        let mut last = self.last.lock().await;
        if let Some(made) = last.as_ref().filter(|made| made.is_good_enough()) {
            return Ok(Arc::clone(&made.ahead));
        }
        let at = Instant::now();
        let mut changes = self.records.changes();
        changes.mark_unchanged();
        let line = self.records.line(MAX_WAITING).await?;
        let jobs = forecast(&line, self.lanes, self.clock.now());
        let ahead = Arc::new(Ahead { jobs, conclusion_s: line.conclusion_s });
        *last = Some(Made { ahead: Arc::clone(&ahead), at, took: at.elapsed(), changes });
        Ok(ahead)
    }

    /// What is ahead of a job; nothing of one that has ended.
    pub(crate) async fn of(&self, record: &JobRecord) -> Result<Forecast, StoreError> {
        let status = record.state.status();
        if status.is_final() {
            return Ok(Forecast::default());
        }
        let ahead = self.ahead().await?;
        let mut job = ahead.of(record.header.job_id, status);
        job.remote = record.policy_path.is_none();
        if status == JobStatus::Queued && job.position.is_none() {
            // It is too new, or too far behind: its age tells.
            job.position = Some(self.records.place_by_age(record.header.job_id).await?);
        }
        Ok(job)
    }
}

impl Ahead {
    /// What is ahead of a job in this state.
    pub(crate) fn of(&self, job: JobId, status: JobStatus) -> Forecast {
        let mut found = self.jobs.get(&job).copied().unwrap_or_default();
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
        let rest = MIN_AGE.max(self.took * SHARE).min(MAX_AGE);
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
