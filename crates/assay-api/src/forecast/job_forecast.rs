//! The forecast of a single job.

use assay_model::JobStatus;

use crate::ApiSettings;
use crate::worker_fleet::MissingWorker;

/// The forecast of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct JobForecast {
    /// Position in the queue, from 1; only while the job is QUEUED.
    pub(crate) position: Option<u32>,
    /// Estimated seconds until its end.
    pub(crate) eta_s: Option<f64>,
    /// The reason for a missing estimate, as far as the forecast knows it; see [`JobForecast::eta_reason`].
    pub(super) no_estimate: Option<NoEstimate>,
    /// True if its policy is a policy server.
    pub(crate) remote: bool,
    /// True if it was started, but has no lane now.
    pub(crate) is_idle: bool,
    /// The worker on another host that it lacks; only matters on a server without lanes, except for labels.
    pub(crate) missing: Option<MissingWorker>,
}

/// The reason why the end of a job cannot be estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoEstimate {
    /// No episode of its scenario has been measured on this server.
    Unmeasured,
    /// A job ahead of it has a scenario of which no episode has been measured on this server.
    BehindUnmeasured,
    /// No conclusion has been measured on this server.
    Conclusion,
    /// More shards are ahead of it than the simulation covers.
    FarBack,
    /// This server does not run uploaded policies.
    NoWorker,
}

impl NoEstimate {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Unmeasured => "no episode of its scenario has been measured on this server yet",
            Self::BehindUnmeasured => "it waits behind a job whose scenario has not been measured on this server yet",
            Self::Conclusion => "no conclusion has been measured on this server yet",
            Self::FarBack => "too many jobs are ahead of it for an estimate",
            Self::NoWorker => "no worker of this server runs uploaded policies",
        }
    }
}

impl JobForecast {
    /// Returns the reason why a job in this state has no estimate; `None` if it has one, or has ended.
    pub(crate) fn eta_reason(&self, status: JobStatus) -> Option<&'static str> {
        if status.is_final() || self.eta_s.is_some() {
            return None;
        }
        Some(self.no_estimate.map_or("it has just been accepted; the estimate follows", NoEstimate::text))
    }

    /// Returns a description of what a job in this state is waiting for.
    pub(crate) fn waiting_for(&self, status: JobStatus, settings: &ApiSettings) -> Option<String> {
        let is_open = matches!(status, JobStatus::Queued | JobStatus::Running);
        let plain = match (&self.missing, status) {
            (Some(MissingWorker::WithLabels(labels)), _) if is_open => {
                return Some(format!("a worker with {labels}: none that is connected has it"));
            }
            (Some(MissingWorker::Any), _) if is_open && settings.local_lanes == 0 => {
                "a worker: none is connected, and this server has no lanes"
            }
            (Some(MissingWorker::WithRuntime), _) if is_open && settings.local_lanes == 0 => {
                "a worker that has the policy's runtime: none that is connected has it, and this server has no lanes"
            }
            (_, JobStatus::Queued | JobStatus::Running) if !self.remote && !settings.runs_uploads => {
                "a worker that runs uploaded policies; this server has none"
            }
            (_, JobStatus::Queued) if self.remote => "a free slot for jobs of policy servers",
            (_, JobStatus::Queued) => "a free lane",
            (_, JobStatus::Running) if self.is_idle => "a free lane to continue",
            (_, JobStatus::Running) if self.remote => "its policy server",
            (_, JobStatus::Judging) if settings.second_judge => "the second judge, then the conclusion",
            (_, JobStatus::Judging) => "the conclusion",
            (_, JobStatus::Running | JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled) => return None,
        };
        Some(plain.to_owned())
    }
}

/// Rounds to tenths of a second; more digits would suggest a precision that the estimate does not have.
pub(super) fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}
