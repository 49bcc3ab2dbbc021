//! Resource limits of a jail. The filter forbids fork, so a jail is one process and these are limits of all of it.

use crate::Profile;

const MIB: u64 = 1024 * 1024;

/// Resource limits of a jailed process. Soft and hard limit are equal; a lower limit of this process takes precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Address space in bytes. numpy needs 160 MiB, MuJoCo 1 GiB.
    pub address_space_bytes: u64,
    /// CPU time of all threads in seconds, from the start of the process: the last resort after the lane's budgets.
    pub cpu_s: u64,
    /// Maximum number of open descriptors.
    pub nofile: u64,
    /// Maximum size of a file that it writes, in bytes.
    pub fsize_bytes: u64,
    /// Stack of the main thread (and the default of others), in bytes.
    pub stack_bytes: u64,
}

impl ProcessLimits {
    /// Returns the default limits of the profile.
    #[must_use]
    pub fn of(profile: Profile) -> Self {
        let common = Self { address_space_bytes: 0, cpu_s: 0, nofile: 64, fsize_bytes: 0, stack_bytes: 8 * MIB };
        match profile {
            Profile::Policy => Self { address_space_bytes: 2048 * MIB, cpu_s: 3600, fsize_bytes: 16 * MIB, ..common },
            Profile::Step => {
                Self { address_space_bytes: 2048 * MIB, cpu_s: 24 * 3600, fsize_bytes: 1024 * MIB, ..common }
            }
            Profile::StepWithCameras => Self {
                address_space_bytes: 4096 * MIB,
                cpu_s: 24 * 3600,
                fsize_bytes: 1024 * MIB,
                nofile: 256,
                ..common
            },
            Profile::Render => {
                Self { address_space_bytes: 4096 * MIB, cpu_s: 3600, fsize_bytes: 1024 * MIB, nofile: 256, ..common }
            }
        }
    }

    /// Returns the pairs for `setrlimit`. Unused resources are zero: core dumps, locked memory, message queues.
    pub(crate) fn table(&self) -> [(libc::__rlimit_resource_t, u64); 8] {
        [
            (libc::RLIMIT_AS, self.address_space_bytes),
            (libc::RLIMIT_CPU, self.cpu_s),
            (libc::RLIMIT_NOFILE, self.nofile),
            (libc::RLIMIT_FSIZE, self.fsize_bytes),
            (libc::RLIMIT_STACK, self.stack_bytes),
            (libc::RLIMIT_CORE, 0),
            (libc::RLIMIT_MEMLOCK, 0),
            (libc::RLIMIT_MSGQUEUE, 0),
        ]
    }
}
