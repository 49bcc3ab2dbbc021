//! `[retention]`: retention of evidence and policies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// Maximum age in days: a hundred years.
const MAX_DAYS: f64 = 36_525.0;
const DAY_S: f64 = 86_400.0;

/// The section `[retention]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Days that a job's evidence is kept after the job has ended; 0 keeps it forever. Report and statement remain.
    pub evidence_days: f64,
    /// Total evidence of all jobs, in MiB; beyond that, the evidence of the jobs that ended first is removed. 0 sets no
    /// limit.
    pub evidence_max_mib: u64,
    /// Days that a job's policy archive is kept after the job has ended; 0 keeps it forever. Without it, episodes
    /// cannot be replayed here.
    pub policy_days: f64,
    /// Days that a model is kept after it was uploaded, and after the last job that used it has ended; 0 keeps it
    /// forever.
    pub model_days: f64,
    /// Days that accesses of administrators and reviewers to what belongs to other accounts are kept; 0 keeps them
    /// forever.
    pub access_days: f64,
    /// Interval between retention rounds, in seconds.
    pub every_s: Seconds,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            evidence_days: 0.0,
            evidence_max_mib: 0,
            policy_days: 0.0,
            model_days: 0.0,
            access_days: 365.0,
            every_s: Seconds::new(60),
        }
    }
}

impl Retention {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless_in("evidence_days", self.evidence_days, &(0.0..=MAX_DAYS))?;
        InvalidSetting::unless_in("evidence_max_mib", self.evidence_max_mib, &(0..=1 << 40))?;
        InvalidSetting::unless_in("policy_days", self.policy_days, &(0.0..=MAX_DAYS))?;
        InvalidSetting::unless_in("model_days", self.model_days, &(0.0..=MAX_DAYS))?;
        InvalidSetting::unless_in("access_days", self.access_days, &(0.0..=MAX_DAYS))?;
        let (least, most) = (std::time::Duration::from_millis(100).into(), Seconds::new(86_400));
        InvalidSetting::unless_in("every_s", self.every_s, &(least..=most))
    }

    /// Converts days to an age; `None` means unlimited.
    pub(crate) fn age(days: f64) -> Option<jiff::SignedDuration> {
        (days > 0.0).then(|| jiff::SignedDuration::try_from_secs_f64(days * DAY_S).ok()).flatten()
    }
}
