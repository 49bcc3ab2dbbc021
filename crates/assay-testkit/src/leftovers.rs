//! Finds jailed processes from outside, by the folders that they mount.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity};

/// The lowest priority.
const LEAST: i32 = 19;
/// Prefix of the names of monitors.
const MONITOR: &str = "assay-jail-";

/// A process whose name (`argv[0]`) or mounts belong to a folder of the test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jailed {
    /// The process id on the host.
    pub pid: i32,
    /// Its command line.
    pub command: String,
}

impl Jailed {
    /// Returns true for a simulator, as opposed to a policy's interpreter or a monitor.
    #[must_use]
    pub fn is_lane(&self) -> bool {
        self.command.starts_with("/assay/assay-lane step")
    }

    /// Returns true for the monitor of a jail, or a jail that is being set up.
    #[must_use]
    pub fn is_monitor(&self) -> bool {
        self.command.starts_with(MONITOR)
    }

    /// Returns true for a policy's interpreter, or one that waits for a policy.
    #[must_use]
    pub fn is_interpreter(&self) -> bool {
        !self.is_monitor() && !self.command.starts_with("/assay/assay-lane")
    }

    /// Kills it, unless it has already ended.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Kills it. Returns false if it had already ended.
    #[must_use]
    pub fn try_kill(&self) -> bool {
        self.signal(Signal::KILL)
    }

    /// Stops it until it is killed.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// Returns its number of threads; 0 once it has ended.
    #[must_use]
    pub fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.pid)).map_or(0, Iterator::count)
    }

    /// Returns the processors that it may run on.
    #[must_use]
    pub fn processors(&self) -> CpuSet {
        sched_getaffinity(Pid::from_raw(self.pid)).unwrap()
    }

    /// Gives it the lowest priority permanently: its threads, and its session if the kernel shares time between
    /// sessions.
    pub fn lower_priority(&self) {
        let _ = fs::write(format!("/proc/{}/autogroup", self.pid), LEAST.to_string());
        for task in fs::read_dir(format!("/proc/{}/task", self.pid)).unwrap() {
            let id = task.unwrap().file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?));
            setpriority_process(id, LEAST).unwrap();
        }
    }

    fn signal(&self, signal: Signal) -> bool {
        Pid::from_raw(self.pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
    }
}

/// Returns every process that mounts a folder below `folder`, and every monitor of a jail that a process of `owners`
/// started.
#[must_use]
pub fn jailed(folder: &Path, owners: &[u32]) -> Vec<Jailed> {
    let folder = folder.to_str().unwrap();
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
        let name = command.split(' ').next().unwrap_or_default();
        let is_monitor = owners.iter().any(|owner| name == format!("{MONITOR}{owner}"));
        let sees = || fs::read_to_string(format!("/proc/{pid}/mountinfo")).is_ok_and(|mounts| mounts.contains(folder));
        // A zombie has no command line.
        (!command.is_empty() && (is_monitor || sees())).then_some(Jailed { pid, command })
    })
    .collect()
}
