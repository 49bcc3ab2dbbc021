//! The published view of a submission: the only place that decides what is visible of a submission, and when.
//!
//! While its season is open, a submission's state, times and results change only at the points of its grid
//! ([`assay_model::Grid`]); see `docs/arena.md`. Every route, list, board and stream uses
//! [`PublishedSubmission`]; none reads the record of a submission directly.

use assay_model::{Grid, JobId, JobStatus};
use assay_store::{JobFailure, JobRecord, JobState, Records, StoreError};
use jiff::Timestamp;

/// Maximum number of events of a submission: one per episode, and one per change of state.
const MAX_EVENTS: u32 = 2000;
/// The public message of a FAILED submission.
const FAILED: &str = "the service could not run the submission; its operator can find the reason in the log";

/// A submission in the state that is published at a given time.
#[derive(Debug, Clone)]
pub(crate) struct PublishedSubmission {
    record: JobRecord,
    is_open: bool,
    point: u32,
    /// The exact times of its start and end, which must not reach clients.
    times: JobTimes,
    changes: Vec<Change>,
}

/// The times at which a job started and ended.
#[derive(Debug, Clone, Copy)]
struct JobTimes {
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

/// A change of state, and the grid point at which it is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) point: u32,
    pub(crate) status: JobStatus,
}

impl PublishedSubmission {
    /// Returns the submission in the state that is published at `now`.
    ///
    /// # Errors
    /// The records failed.
    pub(crate) async fn read(records: &dyn Records, record: JobRecord, now: Timestamp) -> Result<Self, StoreError> {
        let season = match &record.header.arena {
            Some(entry) => records.season(&record.header.scenario, Some(entry.season)).await?,
            None => None,
        };
        let is_open = !season.is_some_and(|season| season.is_closed());
        let grid = Grid::of(record.header.created_at);
        let JobTimes { ended_at, .. } = times(&record.state);
        let judging_at = match ended_at {
            // Once the end is published, the time of judging is not needed.
            Some(at) if !is_open || grid.is_published(at, now) => None,
            None if matches!(record.state, JobState::Queued | JobState::Running { .. }) => None,
            _ => judging_at(records, record.header.job_id).await?,
        };
        Ok(Self::at(record, is_open, judging_at, now))
    }

    /// Adds all changes of state, including those before the last.
    pub(crate) async fn with_history(mut self, records: &dyn Records) -> Result<Self, StoreError> {
        if self.changes.last().is_some_and(|change| change.status.is_final()) {
            let judging_at = judging_at(records, self.record.header.job_id).await?;
            self.changes = changes(self.times, self.status(), judging_at, self.grid());
            self.changes.retain(|change| !self.is_open || change.point <= self.point);
        }
        Ok(self)
    }

    fn at(mut record: JobRecord, is_open: bool, judging_at: Option<Timestamp>, now: Timestamp) -> Self {
        let grid = Grid::of(record.header.created_at);
        let point = grid.last_point(now);
        let times = times(&record.state);
        let mut changes = changes(times, record.state.status(), judging_at, grid);
        if is_open {
            changes.retain(|change| change.point <= point);
        }
        let status = match &record.state {
            // Its owner cancelled it, so there is nothing to hide.
            JobState::Cancelled { .. } => JobStatus::Cancelled,
            JobState::Queued
            | JobState::Running { .. }
            | JobState::Judging { .. }
            | JobState::Completed { .. }
            | JobState::Failed { .. } => changes.last().map_or(JobStatus::Queued, |change| change.status),
        };
        record.state = state(record.state, status, is_open, grid);
        Self { record, is_open, point, times, changes }
    }

    /// Returns the record with its published state and times. Its data about single episodes must not reach clients
    /// while [`PublishedSubmission::is_open`].
    pub(crate) fn record(&self) -> &JobRecord {
        &self.record
    }

    pub(crate) fn into_record(self) -> JobRecord {
        self.record
    }

    pub(crate) fn status(&self) -> JobStatus {
        self.record.state.status()
    }

    /// Returns whether its season is open: then only aggregates are published.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns the grid point of this view.
    pub(crate) fn point(&self) -> u32 {
        self.point
    }

    /// Returns the grid of points at which it is published.
    pub(crate) fn grid(&self) -> Grid {
        Grid::of(self.record.header.created_at)
    }

    /// Returns the published changes of state, oldest first, at most one per point.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the number of finished episodes; not published while the season is open.
    pub(crate) fn episodes_done(&self) -> Option<u32> {
        (!self.is_open).then_some(self.record.episodes_done)
    }
}

async fn judging_at(records: &dyn Records, job: JobId) -> Result<Option<Timestamp>, StoreError> {
    let events = records.events(job, 0, MAX_EVENTS).await?;
    Ok(events.into_iter().find(|event| event.status == JobStatus::Judging).map(|event| event.at))
}

/// Returns all changes of state with the points at which they are published; if several share a point, only the last.
fn changes(
    JobTimes { started_at, ended_at }: JobTimes,
    status: JobStatus,
    judging_at: Option<Timestamp>,
    grid: Grid,
) -> Vec<Change> {
    let steps = [
        (JobStatus::Running, started_at.map(|at| grid.point_of(at))),
        (JobStatus::Judging, judging_at.map(|at| grid.point_of(at))),
        (status, ended_at.map(|at| grid.point_of(at))),
    ];
    let mut changes = vec![Change { point: 0, status: JobStatus::Queued }];
    for (status, point) in steps {
        let Some(point) = point else { continue };
        // A cancellation before the end was published drops the changes that would be published after it.
        changes.retain(|change| change.point < point);
        changes.push(Change { point, status });
    }
    changes
}

fn times(state: &JobState) -> JobTimes {
    let (started_at, ended_at) = match state {
        JobState::Queued => (None, None),
        JobState::Running { started_at } | JobState::Judging { started_at } => (Some(*started_at), None),
        JobState::Completed { started_at, completed_at, .. } => (Some(*started_at), Some(*completed_at)),
        JobState::Failed { started_at, completed_at, .. } | JobState::Cancelled { started_at, completed_at } => {
            (*started_at, Some(*completed_at))
        }
    };
    JobTimes { started_at, ended_at }
}

/// Returns the published state, with times on the grid.
fn state(real: JobState, status: JobStatus, is_open: bool, grid: Grid) -> JobState {
    let published = times(&real).started_at.map(|at| grid.published(at));
    match (status, real) {
        (JobStatus::Completed, JobState::Completed { completed_at, outcome, started_at }) => JobState::Completed {
            started_at: grid.published(started_at),
            completed_at: grid.published(completed_at),
            outcome,
        },
        (JobStatus::Failed, JobState::Failed { completed_at, failure, .. }) => {
            let failure = match is_open {
                true => JobFailure { message: FAILED.to_owned(), ..failure },
                false => failure,
            };
            JobState::Failed { started_at: published, completed_at: grid.published(completed_at), failure }
        }
        (JobStatus::Cancelled, JobState::Cancelled { completed_at, .. }) => {
            JobState::Cancelled { started_at: published.filter(|at| *at <= completed_at), completed_at }
        }
        (JobStatus::Running, _) => JobState::Running { started_at: published.unwrap_or(grid.time(0)) },
        (JobStatus::Judging, _) => JobState::Judging { started_at: published.unwrap_or(grid.time(0)) },
        // A published end is the real one, matched above.
        (JobStatus::Queued | JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled, _) => JobState::Queued,
    }
}
