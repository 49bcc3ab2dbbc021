//! Giving up what only starting needed, before anything of a stranger's is read.

#![expect(unsafe_code, reason = "Landlock has no safe wrapper for a ruleset that somebody else made")]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Names the descriptor of a Landlock ruleset, made by the worker.
const SEAL_VARIABLE: &str = "ASSAY_SEAL_FD";

/// Puts the ruleset on this process, of which there is one thread yet: from here on nothing can be executed, and only
/// what is bound is open. Returns whether it did: without a ruleset the kernel has no Landlock, and the worker decides
/// whether such a lane may do anything.
///
/// # Errors
/// The ruleset can't be put on, or has no effect: nothing may run here then.
pub fn seal() -> io::Result<bool> {
    let Some(number) = std::env::var_os(SEAL_VARIABLE) else { return Ok(false) };
    let number = number.to_str().and_then(|text| text.parse::<i32>().ok()).filter(|number| *number > 2);
    let number = number.ok_or_else(|| io::Error::other("a ruleset whose descriptor is no number"))?;
    // SAFETY: the worker gave us this descriptor for this purpose, and nothing else in the process knows it.
    let ruleset = unsafe { OwnedFd::from_raw_fd(number) };
    // SAFETY: takes a descriptor that we hold, and no flags.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, std::os::fd::AsRawFd::as_raw_fd(&ruleset), 0_u32) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // Every process may write here but one that is sealed.
    match std::fs::File::options().write(true).open("/dev/urandom") {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(true),
        _ => Err(io::Error::other("the ruleset has no effect")),
    }
}
