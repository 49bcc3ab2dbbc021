//! Looking at a jailed process from outside, for what can't be seen in `/proc`.

#![expect(unsafe_code, reason = "a child enters the process's user namespace between fork and exec")]

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// What ends at once, and so shows what came before it.
const NOTHING: &str = "/bin/true";

/// Whether a user namespace can be made in that of the process: with one come capabilities, and with them much more of the
/// kernel. Tried by a child of ours, which is held by the same fence but by no filter.
///
/// # Errors
/// It can't be tried: the process is gone, or we may not enter its namespace.
pub fn can_nest_user_namespace(pid: i32) -> io::Result<bool> {
    let theirs = File::open(format!("/proc/{pid}/ns/user"))?;
    let mut command = Command::new(NOTHING);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).env_clear();
    let attempt = move || {
        move_into_link_name_space(theirs.as_fd(), Some(LinkNameSpaceType::User))?;
        // SAFETY: the child makes this call and then execs; it shares nothing that the call could take from others.
        Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?)
    };
    // SAFETY: `attempt` makes two system calls on plain data: no allocation, no lock.
    unsafe { command.pre_exec(attempt) };
    match command.status() {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => Ok(false),
        Err(error) => Err(error),
    }
}
