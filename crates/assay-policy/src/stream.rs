//! The driver's end of the stream of frames between a policy and its driver.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The streams to and from a policy: two pipes, or the same socket twice. For small frames, pipes take half the time of
/// a socket.
#[derive(Debug)]
pub struct PolicyStream {
    to: File,
    from: File,
}

/// The policy's ends of two pipes.
#[derive(Debug)]
pub(crate) struct PolicyEnds {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
}

impl PolicyStream {
    /// Creates two pipes.
    pub(crate) fn pipes() -> io::Result<(Self, PolicyEnds)> {
        let (stdin, to) = io::pipe()?;
        let (from, stdout) = io::pipe()?;
        let own_end = Self { to: OwnedFd::from(to).into(), from: OwnedFd::from(from).into() };
        Ok((own_end, PolicyEnds { stdin: stdin.into(), stdout: stdout.into() }))
    }

    /// Wraps an end of a socket pair.
    ///
    /// # Errors
    /// No further descriptor can be opened.
    pub fn socket(socket: UnixStream) -> io::Result<Self> {
        let to = OwnedFd::from(socket.try_clone()?).into();
        Ok(Self { to, from: OwnedFd::from(socket).into() })
    }

    /// Returns the descriptors that a lane writes frames to and reads frames from.
    #[must_use]
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.to.as_fd(), self.from.as_fd()]
    }

    /// Waits at most `limit` until something can be read, or the other end is closed.
    #[must_use]
    pub fn is_readable(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).ok();
        poll(&mut [PollFd::new(&self.from, PollFlags::IN)], limit.as_ref()).is_ok_and(|ready| ready > 0)
    }
}

impl Read for PolicyStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.from.read(buffer)
    }
}

impl Write for PolicyStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
