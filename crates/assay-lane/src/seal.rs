//! Drops the privileges needed only for starting, before any untrusted data is read.

#![expect(unsafe_code, reason = "Landlock has no safe wrapper for a ruleset that another process created")]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Name of the variable with the descriptor of a Landlock ruleset, created by the worker.
const SEAL_VARIABLE: &str = "ASSAY_SEAL_FD";

/// Applies the ruleset to this process, which still has a single thread: from here on nothing can be executed, and only
/// bound files are accessible. Returns true if it did: without a ruleset the kernel has no Landlock, and the worker
/// decides whether such a lane may be used.
///
/// # Errors
/// The ruleset cannot be applied, or has no effect. Nothing may run in this process then.
pub fn seal() -> io::Result<bool> {
    let Some(number) = std::env::var_os(SEAL_VARIABLE) else { return Ok(false) };
    let number = number.to_str().and_then(|text| text.parse::<i32>().ok()).filter(|number| *number > 2);
    let number = number.ok_or_else(|| io::Error::other("the descriptor of the ruleset is not a number"))?;
    // SAFETY: the worker passed this descriptor for this purpose, and nothing else in the process knows it.
    let ruleset = unsafe { OwnedFd::from_raw_fd(number) };
    // SAFETY: the call takes a descriptor that this process holds, and no flags.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, std::os::fd::AsRawFd::as_raw_fd(&ruleset), 0_u32) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // Tests the effect: any process may write here unless it is sealed.
    match std::fs::File::options().write(true).open("/dev/urandom") {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(true),
        _ => Err(io::Error::other("the ruleset has no effect")),
    }
}
