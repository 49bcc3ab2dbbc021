//! Reads the state of a process from outside: its CPU clock, its memory, and the activity of its threads.

#![expect(unsafe_code, reason = "process clocks have no safe wrapper")]

use std::fs;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Maximum number of threads that are read; a jail has far fewer.
const MAX_THREADS: usize = 256;
/// The mount point of control groups.
const CGROUPS: &str = "/sys/fs/cgroup";
/// The mount point of version 2 if version 1 is mounted too.
const CGROUPS_HYBRID: &str = "/sys/fs/cgroup/unified";

/// Returns the CPU time of all threads of `pid` since its start; `None` after its end.
pub(crate) fn cpu_time(pid: Pid) -> Option<Duration> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is valid for writing the result.
    if unsafe { libc::clock_getcpuclockid(pid.as_raw_nonzero().get(), &raw mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing the result.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// Returns the bytes of memory that `pid` has written and shares with no file: what the machine cannot take back
/// without swapping. `None` after its end.
pub(crate) fn private_bytes(pid: Pid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The activity of a process's threads, as the kernel reports it from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// At least one runs, is ready to run, or waits for the kernel to load a page or a block.
    Ready,
    /// All of them that have not ended sleep, or are in the idle scheduling class.
    Asleep,
    /// Another process has stopped it (SIGSTOP, a debugger) or frozen its control group.
    Stopped,
}

/// Returns the current activity of the threads of `pid`; `None` if it has ended or cannot be read.
pub(crate) fn activity(pid: Pid) -> Option<Activity> {
    let mut activity = None;
    for task in tasks(pid)? {
        match state_of(pid, task) {
            Some('T' | 't') => return Some(Activity::Stopped),
            Some('R' | 'D') if !is_idle_class(task) => activity = Some(Activity::Ready),
            // It has ended, and waits to be collected or for the end of its namespaces.
            Some('Z' | 'X') | None => {}
            Some(_) => activity = activity.or(Some(Activity::Asleep)),
        }
    }
    // A frozen thread looks like one that sleeps or waits for the kernel.
    if activity.is_some() && is_frozen(pid) { Some(Activity::Stopped) } else { activity }
}

/// Returns the letter of the state in `/proc/PID/task/TID/stat`.
fn state_of(pid: Pid, task: Pid) -> Option<char> {
    let text =
        fs::read_to_string(format!("/proc/{}/task/{}/stat", pid.as_raw_nonzero(), task.as_raw_nonzero())).ok()?;
    // The program's name precedes the state, and may contain any character.
    text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

fn is_idle_class(task: Pid) -> bool {
    // SAFETY: the call takes a plain number.
    unsafe { libc::sched_getscheduler(task.as_raw_nonzero().get()) == libc::SCHED_IDLE }
}

/// Returns true if the control group of `pid` is known to be frozen (`cgroup.freeze`, or the freezer of version 1),
/// from the usual mount points.
fn is_frozen(pid: Pid) -> bool {
    let groups = fs::read_to_string(format!("/proc/{}/cgroup", pid.as_raw_nonzero())).unwrap_or_default();
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    groups.lines().filter_map(|line| line.split_once(':')).any(|(_, line)| match line.split_once(':') {
        Some(("", group)) => {
            let events = [CGROUPS, CGROUPS_HYBRID].map(|root| read(format!("{root}{group}/cgroup.events")));
            events.iter().any(|events| events.lines().any(|line| line == "frozen 1"))
        }
        Some(("freezer", group)) => read(format!("{CGROUPS}/freezer{group}/freezer.state")).trim() == "FROZEN",
        _ => false,
    })
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

/// Returns the set of one core.
pub(crate) fn core_set(core: usize) -> std::io::Result<CpuSet> {
    if core >= CpuSet::MAX_CPU {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, format!("processor {core} does not exist")));
    }
    let mut set = CpuSet::new();
    set.set(core);
    Ok(set)
}

fn tasks(pid: Pid) -> Option<Vec<Pid>> {
    let folder = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).ok()?;
    let ids = folder.take(MAX_THREADS).filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Some(ids.filter_map(Pid::from_raw).collect())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_has_ended_is_not_asleep() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        rustix::process::waitid(
            rustix::process::WaitId::Pid(pid),
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
        )
        .unwrap();
        assert_eq!((state_of(pid, pid), activity(pid)), (Some('Z'), None));
        child.wait().unwrap();
    }
}
