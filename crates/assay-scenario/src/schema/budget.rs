//! `[budget]`: CPU time, memory and size of a policy.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

/// CPU time, memory and size of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// CPU time in ms; a step that exceeds it counts as a deadline miss.
    pub step_cpu_ms: f64,
    /// CPU time in ms; a step that exceeds it ends the episode.
    pub hard_cpu_ms: f64,
    /// Budget of the start and of the first action, each, in ms of CPU time.
    pub first_cpu_ms: f64,
    /// Budget of the import of `policy.py`, in ms of CPU time.
    pub import_cpu_ms: f64,
    /// Address space of the policy's process, including interpreter and numpy, in MiB.
    pub memory_mib: u32,
    /// Maximum size of a policy's archive, in MiB; by default only the service's limit applies.
    pub archive_mib: Option<u32>,
}

impl Budget {
    /// Permitted memory, in MiB: interpreter and numpy need 160, and a pool's process has at most 2048.
    pub const MEMORY_MIB: std::ops::RangeInclusive<u32> = 256..=2048;
    /// Permitted archive limits, in MiB; a service accepts more than 100 only if its operator has configured it.
    pub const ARCHIVE_MIB: std::ops::RangeInclusive<u32> = 1..=100;
    /// Maximum CPU budget of any kind, in ms.
    pub const MAX_CPU_MS: f64 = 600_000.0;

    /// Returns a CPU time, in s, that a policy within its budgets cannot exceed in an episode of that many control
    /// steps. The kernel enforces it as the last resort.
    #[must_use]
    pub fn most_cpu_s(&self, control_steps: u32) -> u64 {
        let later_steps = f64::from(control_steps.saturating_sub(1));
        let ms = self.import_cpu_ms + 2.0 * self.first_cpu_ms + later_steps * self.hard_cpu_ms;
        Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::MAX).as_secs().saturating_add(UNBUDGETED_CPU_S)
    }
}

/// CPU time for the interpreter's start and for the policy's `close()`, in s.
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
