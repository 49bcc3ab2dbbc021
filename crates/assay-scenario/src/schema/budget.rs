//! `[budget]`: CPU time, memory and size of a policy.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

/// CPU time, memory and size of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// A step over this is counted as a miss, in ms of CPU.
    pub step_cpu_ms: f64,
    /// A step over this ends the episode, in ms of CPU.
    pub hard_cpu_ms: f64,
    /// Allowance of the first call, in ms of CPU.
    pub first_cpu_ms: f64,
    /// The import of `policy.py`, in ms of CPU.
    pub import_cpu_ms: f64,
    /// Address space of the policy's process, interpreter and numpy included, in MiB.
    pub memory_mib: u32,
    /// Largest archive of a policy, in MiB; without it, what the service takes.
    pub archive_mib: Option<u32>,
}

impl Budget {
    /// Least and most memory, in MiB: interpreter and numpy need 160, and a pool's process has no more than 2048.
    pub const MEMORY_MIB: std::ops::RangeInclusive<u32> = 256..=2048;
    /// Least and most of an archive, in MiB: more than 100 a service takes only where its operator said so.
    pub const ARCHIVE_MIB: std::ops::RangeInclusive<u32> = 1..=100;
    /// Largest CPU budget of any kind, in ms.
    pub const MAX_CPU_MS: f64 = 600_000.0;

    /// CPU time, in s, that no policy within its budgets can use in an episode of so many control steps: the kernel's
    /// last word, where nobody else counts any more.
    #[must_use]
    pub fn most_cpu_s(&self, control_steps: u32) -> u64 {
        let later_steps = f64::from(control_steps.saturating_sub(1));
        let ms = self.import_cpu_ms + 2.0 * self.first_cpu_ms + later_steps * self.hard_cpu_ms;
        Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::MAX).as_secs().saturating_add(UNBUDGETED_CPU_S)
    }
}

/// For the interpreter's own start, and for the policy's `close()`, in s of CPU.
const UNBUDGETED_CPU_S: u64 = 5;

impl Default for Budget {
    fn default() -> Self {
        Self {
            step_cpu_ms: 100.0,
            hard_cpu_ms: 1000.0,
            first_cpu_ms: 5000.0,
            import_cpu_ms: 10_000.0,
            memory_mib: 2048,
            archive_mib: None,
        }
    }
}
