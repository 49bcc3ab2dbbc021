//! Limits of an examination.

use std::time::Duration;

use assay_jail::{JailSpec, WorkLimit};

/// Address space of a process that examines a scenario.
const ADDRESS_SPACE_BYTES: u64 = 2 << 30;

/// Limits of one examination. All have a memory limit of 2 GiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExamineLimits {
    /// CPU time and sleep.
    pub(crate) work: WorkLimit,
    /// CPU time in s.
    pub(crate) cpu_s: u64,
}

impl ExamineLimits {
    /// Creates limits of the CPU time and of the sleep, in s.
    pub(crate) const fn new(cpu_s: u64, asleep_s: u64) -> Self {
        Self { work: WorkLimit::new(Duration::from_secs(cpu_s), Duration::from_secs(asleep_s)), cpu_s }
    }

    pub(crate) fn put(self, spec: &mut JailSpec) {
        spec.limits.cpu_s = self.cpu_s;
        spec.limits.address_space_bytes = spec.limits.address_space_bytes.min(ADDRESS_SPACE_BYTES);
    }
}
