//! Caps of accounts and their usage.

use std::fmt;

use jiff::Timestamp;

const DAY_S: i64 = 86_400;
/// Retry interval if the time is unknown, in s: about the duration of a job.
const RETRY_S: u64 = 30;

/// The quota check of a new job. It is part of the transaction that accepts the job, so that of any number of
/// simultaneous requests exactly as many as fit are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobQuota {
    /// Its account's caps.
    pub caps: AccountCaps,
    /// Its demand.
    pub ask: JobDemand,
}

/// The caps of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountCaps {
    /// Jobs accepted in a day (UTC); those that FAILED with blame `platform` do not count.
    pub jobs_per_day: u64,
    /// Jobs that have not ended.
    pub active_jobs: u64,
    /// Simulated seconds of all jobs that have not ended.
    pub queued_sim_s: u64,
    /// Bytes of policies and evidence.
    pub stored_bytes: u64,
}

impl AccountCaps {
    /// Returns the first cap that one more job with the demand `ask` would exceed. The pure rule: a backend applies it
    /// inside the transaction, and the API as an early check.
    #[must_use]
    pub fn exceeded_by(&self, has: &AccountUsage, ask: JobDemand, now: Timestamp) -> Option<CapExceeded> {
        let tomorrow = (day(now) + 1).saturating_mul(DAY_S);
        [
            (Cap::JobsPerDay, self.jobs_per_day, has.jobs_today, 1, Timestamp::from_second(tomorrow).ok()),
            (Cap::ActiveJobs, self.active_jobs, has.active_jobs, 1, None),
            (Cap::QueuedSimS, self.queued_sim_s, has.queued_sim_s, ask.sim_s, None),
            (Cap::StoredBytes, self.stored_bytes, has.stored_bytes, ask.stored_bytes, None),
        ]
        .into_iter()
        .find(|(_, maximum, current, more, _)| current.saturating_add(*more) > *maximum)
        .map(|(cap, maximum, current, _, frees_at)| {
            let wait = frees_at.map_or(0, |at| at.as_second() - now.as_second());
            let retry_s = if frees_at.is_some() { wait.unsigned_abs().max(1) } else { RETRY_S };
            CapExceeded { cap, maximum, current, frees_at, retry_s }
        })
    }
}

/// The demand of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobDemand {
    /// Simulated seconds, if no episode ends early.
    pub sim_s: u64,
    /// Bytes of its archive. The same archive counts once per account.
    pub stored_bytes: u64,
}

/// The usage of an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "described in AccountCaps")]
pub struct AccountUsage {
    pub jobs_today: u64,
    pub active_jobs: u64,
    pub queued_sim_s: u64,
    pub stored_bytes: u64,
}

/// One of [`AccountCaps`], or of [`crate::ModelQuota`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "described in AccountCaps")]
pub enum Cap {
    JobsPerDay,
    ActiveJobs,
    QueuedSimS,
    StoredBytes,
    /// Number of models, unfinished uploads included.
    Models,
    /// Total size of the models in bytes, unfinished uploads included.
    ModelBytes,
}

/// A cap that a job or a model would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapExceeded {
    /// The cap.
    pub cap: Cap,
    /// Its value.
    pub maximum: u64,
    /// Current usage.
    pub current: u64,
    /// Time at which usage falls; `None` if that depends on when jobs end or are erased.
    pub frees_at: Option<Timestamp>,
    /// Seconds after which to try again.
    pub retry_s: u64,
}

impl Cap {
    /// Returns its name in responses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::JobsPerDay => "jobs_per_day",
            Self::ActiveJobs => "active_jobs",
            Self::QueuedSimS => "queued_sim_s",
            Self::StoredBytes => "stored_bytes",
            Self::Models => "models",
            Self::ModelBytes => "model_bytes",
        }
    }
}

impl fmt::Display for CapExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { maximum, current, .. } = self;
        match self.cap {
            Cap::JobsPerDay => {
                write!(f, "your account has started {current} jobs today, of {maximum} a day; try again tomorrow (UTC)")
            }
            Cap::ActiveJobs => write!(
                f,
                "your account has {current} jobs that have not ended, of {maximum}; wait for one, or cancel one"
            ),
            Cap::QueuedSimS => write!(
                f,
                "your account's jobs have {current} simulated seconds to go, and with this one they would have more than \
                 {maximum}; wait for one, or ask for fewer episodes"
            ),
            Cap::StoredBytes => write!(
                f,
                "your account keeps {} MiB of policies and evidence, of {} MiB; delete some of your jobs",
                current >> 20,
                maximum >> 20
            ),
            Cap::Models => write!(f, "your account has {current} models, of {maximum}; remove one"),
            Cap::ModelBytes => write!(
                f,
                "your account has {} MiB of models, of {} MiB, and this one does not fit; remove some",
                current.div_ceil(1 << 20),
                maximum >> 20
            ),
        }
    }
}

/// Returns the number of days since 1970-01-01, UTC.
pub(crate) fn day(now: Timestamp) -> i64 {
    now.as_second().div_euclid(DAY_S)
}
