//! Ends a process that has written more memory than it may, as seen from outside.
//!
//! The kernel's limits count address space, and what is writable at the moment. Memory that a process wrote and then
//! made read-only is in neither if address space was granted for something else, such as the files of models.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, pidfd_send_signal};

use crate::clocks;
use crate::wait::wait_readable;

/// Time between two readings; a process can write about half a GiB in it.
const INTERVAL: Duration = Duration::from_millis(25);

/// A thread that watches the memory of one process until its end.
#[derive(Debug)]
pub(crate) struct MemoryWatch {
    limit_bytes: u64,
    is_exceeded: Arc<AtomicBool>,
}

impl MemoryWatch {
    /// Starts to watch `pid`, of which `process` is a pidfd.
    pub(crate) fn start(pid: Pid, process: OwnedFd, limit_bytes: u64) -> io::Result<Self> {
        let is_exceeded = Arc::new(AtomicBool::new(false));
        let exceeded = Arc::clone(&is_exceeded);
        std::thread::Builder::new().name("policy-memory".to_owned()).spawn(move || {
            while !wait_readable(&process, INTERVAL) {
                if clocks::private_bytes(pid).is_some_and(|bytes| bytes > limit_bytes) {
                    // Before the signal, so that an observer of the end sees its reason. It fails if the process has
                    // ended, and the memory may have been that of another one with its number.
                    exceeded.store(true, Ordering::SeqCst);
                    let sent = pidfd_send_signal(&process, Signal::KILL);
                    exceeded.store(sent.is_ok(), Ordering::SeqCst);
                    break;
                }
            }
        })?;
        Ok(Self { limit_bytes, is_exceeded })
    }

    /// Returns the limit in bytes if the process was killed for exceeding it.
    pub(crate) fn exceeded(&self) -> Option<u64> {
        self.is_exceeded.load(Ordering::SeqCst).then_some(self.limit_bytes)
    }
}
