//! Inspects a jailed process from outside, beyond the information in `/proc`.

#![expect(unsafe_code, reason = "a child enters the process's user namespace between fork and exec")]

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// A program that ends at once, since only the calls before its start are tested.
const NOTHING: &str = "/bin/true";

/// Returns true if a user namespace can be created inside that of the process. It would give capabilities, and thus
/// access to much more of the kernel. A child of this process tries it, with the same namespaces but without a
/// filter.
///
/// # Errors
/// The process has ended, or its namespace may not be entered.
pub fn can_nest_user_namespace(pid: i32) -> io::Result<bool> {
    let namespace = File::open(format!("/proc/{pid}/ns/user"))?;
    let mut command = Command::new(NOTHING);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).env_clear();
    let attempt = move || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::User))?;
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
