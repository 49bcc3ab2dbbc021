//! The end of a jailed process.

use std::fmt;
use std::time::{Duration, Instant};

/// Exit statuses above this report a signal: bubblewrap reports a child killed by signal n as 128 + n.
const SIGNAL_BASE: i32 = 128;
const LAST_SIGNAL: i32 = 64;

/// The end of a jailed process; not an internal error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Exit status, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it (31 = a forbidden system call). A program that exits with 128 + n looks the same.
    pub signal: Option<i32>,
    /// The cause of the end.
    pub reason: ExitReason,
    /// CPU time of all its threads and of setting up the jail.
    pub cpu: Duration,
    /// Upper bound of the CPU time that the kernel counted against a limit. The kernel counts in ticks; a program can
    /// cause more of them to be charged than it uses, but not more than there were on all processors since its start.
    pub cpu_counted_at_most: Duration,
    /// Maximum resident memory, in bytes.
    pub max_rss_bytes: u64,
    /// Number of bytes written to its standard output and error.
    pub output_bytes: u64,
}

/// The cause of a jailed process's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// It ended by itself.
    Exited,
    /// A signal that this process did not send: a crash, a resource limit, a forbidden system call.
    Signalled,
    /// This process killed it because it wrote more than [`crate::FLOOD_BYTES`].
    Flooded,
    /// This process killed it because it wrote more memory than this limit in bytes.
    OverMemory(u64),
    /// This process killed it at the caller's request.
    Killed,
}

/// Formats as "status 1" or "signal 11".
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.reason, self.signal, self.code) {
            (ExitReason::Killed, ..) => f.write_str("killed by assay"),
            (ExitReason::Flooded, ..) => write!(f, "killed by assay after {} bytes of output", self.output_bytes),
            (ExitReason::OverMemory(limit), ..) => write!(f, "killed by assay with over {limit} bytes of memory"),
            (_, Some(signal), _) => write!(f, "signal {signal}"),
            (_, None, Some(code)) => write!(f, "status {code}"),
            (_, None, None) => f.write_str("an unknown status"),
        }
    }
}

impl Exit {
    /// Returns true if it ended by itself with status 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.reason == ExitReason::Exited && self.code == Some(0)
    }

    pub(crate) fn new(
        status: i32,
        usage: &libc::rusage,
        ended_by_us: Option<ExitReason>,
        output: (u64, Instant),
    ) -> Self {
        let (output_bytes, began) = output;
        let (code, signal) = split(status);
        let own = if signal.is_some() { ExitReason::Signalled } else { ExitReason::Exited };
        Self {
            code,
            signal,
            reason: ended_by_us.filter(|_| signal == Some(libc::SIGKILL)).unwrap_or(own),
            cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
            cpu_counted_at_most: began.elapsed().saturating_mul(processors()),
            max_rss_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
            output_bytes,
        }
    }
}

/// Splits a wait status of bubblewrap into its child's exit code or signal.
fn split(status: i32) -> (Option<i32>, Option<i32>) {
    if libc::WIFSIGNALED(status) {
        return (None, Some(libc::WTERMSIG(status)));
    }
    let code = libc::WEXITSTATUS(status);
    if (SIGNAL_BASE + 1..=SIGNAL_BASE + LAST_SIGNAL).contains(&code) {
        return (None, Some(code - SIGNAL_BASE));
    }
    (Some(code), None)
}

/// Returns the number of processors of this machine.
#[expect(unsafe_code, reason = "no safe call counts the processors that a thread is not pinned to")]
fn processors() -> u32 {
    // SAFETY: the call takes and returns a plain number.
    u32::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(u32::MAX)
}

fn duration(time: libc::timeval) -> Duration {
    let micros = time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_usec);
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
