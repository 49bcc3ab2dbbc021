//! Reads the CPU time of all threads of a process, as counted by the kernel.

#![expect(unsafe_code, reason = "rustix has no clock of another process")]

use std::time::Duration;

/// A process's CPU clock. Works without /proc; the process must be in the same PID namespace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuClock(libc::clockid_t);

/// Low bits of a clock id: CPUCLOCK_SCHED, which counts to the nanosecond (linux/posix-timers.h).
const SCHED: libc::clockid_t = 2;

impl CpuClock {
    /// Returns the clock of process `pid`.
    pub(crate) fn of(pid: i32) -> Self {
        Self((!pid << 3) | SCHED)
    }

    /// Returns the calling thread's clock. Under a CPU time limit the kernel updates a running process's clock at its
    /// ticks only (that of a waiting process is exact); a thread's own clock is always exact.
    pub(crate) fn own() -> Self {
        Self(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// Returns the CPU time used so far; `None` once the process is gone.
    pub(crate) fn read(self) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a local timespec, which the call fills in.
        let status = unsafe { libc::clock_gettime(self.0, &raw mut time) };
        let whole = u64::try_from(time.tv_sec).ok()?;
        let nanos = u32::try_from(time.tv_nsec).ok()?;
        (status == 0).then(|| Duration::new(whole, nanos))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::{CpuClock, Duration};

    #[test]
    fn counts_work() {
        let clock = CpuClock::of(i32::try_from(std::process::id()).unwrap());
        let before = clock.read().unwrap();
        let mut sum = 0_u64;
        while clock.read().unwrap() == before {
            sum = std::hint::black_box(sum + 1);
        }
        let own = CpuClock::own().read().unwrap();
        assert!(own > Duration::ZERO && own <= clock.read().unwrap());
        assert_eq!(CpuClock::of(i32::MAX - 1).read(), None);
    }
}
