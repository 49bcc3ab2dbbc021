//! What the kernel tells about a process from outside: its CPU clock, how long it waited for a processor.

#![expect(unsafe_code, reason = "process clocks have no safe wrapper")]

use std::path::Path;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Threads that are looked at; a jail has far fewer.
const MAX_THREADS: usize = 256;

/// CPU time of all threads of `pid` since its start; `None` when it is gone.
pub(crate) fn cpu_time(pid: Pid) -> Option<Duration> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a valid place for the result.
    if unsafe { libc::clock_getcpuclockid(pid.as_raw_nonzero().get(), &raw mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// Time that the threads of `pid` were ready to run but had no processor; `None` when it is gone or can't be read. Those that
/// asked for nothing but idle time have themselves to blame, and do not count.
pub(crate) fn run_delay(pid: Pid) -> Option<Duration> {
    let mut total = 0_u64;
    for task in tasks(pid)? {
        // SAFETY: the call takes a plain number.
        if unsafe { libc::sched_getscheduler(task.as_raw_nonzero().get()) } == libc::SCHED_IDLE {
            continue;
        }
        let path = format!("/proc/{}/task/{}/schedstat", pid.as_raw_nonzero(), task.as_raw_nonzero());
        if let Ok(text) = std::fs::read_to_string(Path::new(&path)) {
            total += text.split_ascii_whitespace().nth(1).and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Some(Duration::from_nanos(total))
}

/// Whether somebody has stopped `pid` (SIGSTOP, a debugger), so that it neither runs nor waits; false when it is gone.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    // Before the state stands the program's name, which may hold anything.
    text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

/// Pins every thread of `pid` to `core`.
pub(crate) fn pin(pid: Pid, core: usize) -> std::io::Result<()> {
    let set = core_set(core)?;
    let own = std::iter::once(pid).chain(tasks(pid).into_iter().flatten());
    for task in own {
        match sched_setaffinity(Some(task), &set) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The set that holds one core.
pub(crate) fn core_set(core: usize) -> std::io::Result<CpuSet> {
    if core >= CpuSet::MAX_CPU {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, format!("no processor {core}")));
    }
    let mut set = CpuSet::new();
    set.set(core);
    Ok(set)
}

fn tasks(pid: Pid) -> Option<Vec<Pid>> {
    let folder = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).ok()?;
    let ids = folder.take(MAX_THREADS).filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Some(ids.filter_map(Pid::from_raw).collect())
}
