//! `[retention]`: how long things are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// Most days of an age: a hundred years.
const MAX_DAYS: f64 = 36_525.0;
const DAY_S: f64 = 86_400.0;

/// The section `[retention]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Days that a job's evidence is kept after the job has ended; 0 keeps it for ever. Report and statement stay.
    pub evidence_days: f64,
    /// Most evidence of all jobs together, in MiB; over it that of the jobs that ended first goes. 0 is no limit.
    pub evidence_max_mib: u64,
    /// Days that a job's policy archive is kept after the job has ended; 0 keeps it for ever. Without it episodes
    /// can't be replayed here.
    pub policy_days: f64,
    /// How often it is looked for what is to go.
    pub every_s: Seconds,
}

impl Default for Retention {
    fn default() -> Self {
        Self { evidence_days: 0.0, evidence_max_mib: 0, policy_days: 0.0, every_s: Seconds::new(60) }
    }
}

impl Retention {
    /// Checks what the types can't.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first that can't be.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless_in("evidence_days", self.evidence_days, &(0.0..=MAX_DAYS))?;
        InvalidSetting::unless_in("evidence_max_mib", self.evidence_max_mib, &(0..=1 << 40))?;
        InvalidSetting::unless_in("policy_days", self.policy_days, &(0.0..=MAX_DAYS))?;
        let (least, most) = (std::time::Duration::from_millis(100).into(), Seconds::new(86_400));
        InvalidSetting::unless_in("every_s", self.every_s, &(least..=most))
    }

    /// An age from days; `None` is for ever.
    pub(crate) fn age(days: f64) -> Option<jiff::SignedDuration> {
        (days > 0.0).then(|| jiff::SignedDuration::try_from_secs_f64(days * DAY_S).ok()).flatten()
    }
}
