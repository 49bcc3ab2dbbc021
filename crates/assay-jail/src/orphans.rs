//! Cleans up jails whose owner was killed while bubblewrap was setting them up.
//!
//! Once it runs, a jailed program dies with its monitor, and the monitor with this process. For less than a millisecond
//! before, the future program waits for a message of its monitor and does not yet die with it: if this process is
//! killed with SIGKILL then, it waits forever. It still has the name that bubblewrap was started with, which names its
//! owner.

use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

const PREFIX: &str = "assay-jail-";

/// Returns the name (`argv[0]`) under which bubblewrap runs for this process.
pub(crate) fn own_name() -> String {
    format!("{PREFIX}{}", std::process::id())
}

/// Kills the remaining processes of jails whose owner no longer exists, and returns their number. Called at the start
/// of a service or a command, before its first jail; jails of running owners are not affected.
pub fn sweep_orphans() -> usize {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    pids.filter(|pid| is_orphan(*pid)).filter(|pid| kill_orphan(*pid)).count()
}

fn is_orphan(pid: Pid) -> bool {
    let Ok(line) = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())) else { return false };
    let name = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let owner = std::str::from_utf8(name).ok().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
    owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists())
}

fn kill_orphan(pid: Pid) -> bool {
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    // Check again now that the descriptor pins the process, because the pid may have been reused.
    is_orphan(pid) && pidfd_send_signal(&fd, Signal::KILL).is_ok()
}

/// Kills the children of a monitor whose jail did not start.
pub(crate) fn kill_children(of: Pid) {
    let path = format!("/proc/{0}/task/{0}/children", of.as_raw_nonzero());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    for pid in text.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
        if let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) {
            let _ = pidfd_send_signal(&fd, Signal::KILL);
        }
    }
}
