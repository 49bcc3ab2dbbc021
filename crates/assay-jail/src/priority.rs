//! Whether a jail lets others go first. A jail is a session of its own, and to the kernel's autogroups a session is one party for the
//! processor: niceness and `SCHED_IDLE` inside it mean nothing outside, only the group's own niceness does
//! (sched(7), "The autogroup feature").

use std::fs;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, geteuid, getpid};

/// How soon after its start a jail is a session.
const START_LIMIT: Duration = Duration::from_millis(50);
const TICK: Duration = Duration::from_millis(1);
/// Without `CAP_SYS_ADMIN` the kernel takes one change in 100 ms, of everybody's.
const CHANGE_LIMIT: Duration = Duration::from_millis(500);

/// Puts the session of `program` behind all others; whether that was possible. Only root does so: for others it might take
/// too long to undo.
pub(crate) fn lower(program: Pid) -> bool {
    let end = Instant::now() + START_LIMIT;
    while geteuid().is_root() {
        match (group(getpid()), group(program)) {
            // Before that it is in our own session.
            (Some(ours), Some(its)) if ours == its && Instant::now() < end => sleep(TICK),
            (Some(ours), Some(its)) if ours != its => return fs::write(file(program), "19").is_ok(),
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

/// The session's group; `None` where there are no such groups.
fn group(pid: Pid) -> Option<String> {
    let text = fs::read_to_string(file(pid)).ok()?;
    text.split_ascii_whitespace().next().map(str::to_owned)
}

fn file(pid: Pid) -> String {
    format!("/proc/{}/autogroup", pid.as_raw_nonzero())
}
