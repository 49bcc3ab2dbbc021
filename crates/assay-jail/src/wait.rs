//! Waiting for a descriptor.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until `fd` is readable (a pidfd: its process has ended).
pub(crate) fn wait_readable(fd: &impl std::os::fd::AsFd, limit: Duration) -> bool {
    // A limit beyond the clock's range means no limit.
    let end = Instant::now().checked_add(limit);
    loop {
        let left = end.and_then(|end| Timespec::try_from(end.saturating_duration_since(Instant::now())).ok());
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        match poll(&mut fds, left.as_ref()) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
