//! Limits of an examination.

use std::time::Duration;

use assay_jail::JailSpec;

/// Address space of a process that examines a scenario.
const ADDRESS_SPACE_BYTES: u64 = 2 << 30;

/// Limits of one examination. All have a memory limit of 2 GiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExamineLimits {
    /// Wall-clock time.
    pub(crate) wall: Duration,
    /// CPU time in s.
    pub(crate) cpu_s: u64,
}

impl ExamineLimits {
    pub(crate) fn put(self, spec: &mut JailSpec) {
        spec.limits.cpu_s = self.cpu_s;
        spec.limits.address_space_bytes = spec.limits.address_space_bytes.min(ADDRESS_SPACE_BYTES);
    }
}
