//! Scheduling priority of a jail against other sessions, and its priority when memory runs out. A jail has its own
//! session. The kernel's autogroups schedule a session as a unit: niceness and `SCHED_IDLE` inside it have no effect
//! outside, only the group's own niceness does (sched(7), "The autogroup feature").

use std::fs;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, geteuid, getpid};

/// Maximum time for a started jail to get its own session, its first step. It takes milliseconds, and more only if the
/// jail is starved of CPU: then it is most important that it gives way.
const START_LIMIT: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(1);
/// Maximum time of retries: without `CAP_SYS_ADMIN` the kernel accepts one change per 100 ms for all processes
/// together.
const CHANGE_LIMIT: Duration = Duration::from_millis(500);

/// Gives the session of `program` the lowest priority. Returns true if that was possible. Only for root: other users
/// might have to wait too long to undo it.
pub(crate) fn lower(program: Pid) -> bool {
    let end = Instant::now() + START_LIMIT;
    while geteuid().is_root() {
        match (group(getpid()), group(program)) {
            // The program has not left this process's session yet.
            (Some(own), Some(its)) if own == its && Instant::now() < end => sleep(TICK),
            (Some(own), Some(its)) if own != its => return fs::write(file(program), "19").is_ok(),
            _ => return false,
        }
    }
    false
}

/// Undoes [`lower`].
pub(crate) fn restore(program: Pid) -> io::Result<()> {
    let end = Instant::now() + CHANGE_LIMIT;
    loop {
        match fs::write(file(program), "0") {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < end => sleep(TICK),
            done => return done,
        }
    }
}

/// Returns the session's autogroup; `None` if the kernel has none.
fn group(pid: Pid) -> Option<String> {
    let text = fs::read_to_string(file(pid)).ok()?;
    text.split_ascii_whitespace().next().map(str::to_owned)
}

fn file(pid: Pid) -> String {
    format!("/proc/{}/autogroup", pid.as_raw_nonzero())
}

/// Makes the kernel kill `program` before other processes when memory runs out. Best effort: not every user may set
/// this.
pub(crate) fn prefer_oom_kill(program: Pid) {
    drop(std::fs::write(format!("/proc/{}/oom_score_adj", program.as_raw_nonzero()), "1000"));
}
