//! The output of a jailed process: a thread drains it so that the process never blocks, keeps its end, and stops a
//! flood.

use std::collections::VecDeque;
use std::io::{PipeReader, PipeWriter, Read};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, pidfd_send_signal};

/// Number of bytes kept of the end of the log.
pub const TAIL_BYTES: usize = 64 * 1024;
/// Maximum number of bytes that a process may print before it is killed.
pub const FLOOD_BYTES: u64 = 8 * 1024 * 1024;
const READ_BYTES: usize = 16 * 1024;
const STACK_BYTES: usize = 128 * 1024;

#[derive(Debug, Default)]
struct CapturedOutput {
    tail: VecDeque<u8>,
    total: u64,
    flooded: bool,
}

/// The thread that drains one process's output, and the log.
#[derive(Debug)]
pub(crate) struct OutputDrain {
    log: Arc<Mutex<CapturedOutput>>,
    /// Closed to tell the thread that the output has ended.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl OutputDrain {
    /// Starts draining `pipe`; `process` is the pidfd to kill on a flood.
    pub(crate) fn drain(pipe: PipeReader, process: Option<OwnedFd>) -> std::io::Result<Self> {
        let (stopped, stop) = std::io::pipe()?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let log = Arc::new(Mutex::new(CapturedOutput::default()));
        let shared = Arc::clone(&log);
        let thread = std::thread::Builder::new()
            .name("jail-log".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || run(pipe, &stopped, process.as_ref(), &shared))?;
        Ok(Self { log, stop: Some(stop), thread: Some(thread) })
    }

    /// Reads the rest of the pipe and ends the thread. Called after the process has ended.
    pub(crate) fn finish(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic, which is not expected, would only make the log shorter.
            drop(thread.join());
        }
    }

    pub(crate) fn tail(&self) -> Vec<u8> {
        self.lock().tail.iter().copied().collect()
    }

    pub(crate) fn total(&self) -> u64 {
        self.lock().total
    }

    pub(crate) fn is_flooded(&self) -> bool {
        self.lock().flooded
    }

    fn lock(&self) -> MutexGuard<'_, CapturedOutput> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OutputDrain {
    fn drop(&mut self) {
        self.finish();
    }
}

fn run(mut pipe: PipeReader, stopped: &PipeReader, process: Option<&OwnedFd>, log: &Mutex<CapturedOutput>) {
    let mut buffer = [0; READ_BYTES];
    loop {
        let mut fds = [PollFd::new(&pipe, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        if poll(&mut fds, None).is_err_and(|error| error != rustix::io::Errno::INTR) {
            return;
        }
        let [has_output, is_over] = fds.map(|fd| !fd.revents().is_empty());
        if has_output {
            match pipe.read(&mut buffer) {
                Ok(0) => return,
                Ok(n) => keep(&buffer[..n], log, process),
                Err(error) if is_transient(&error) => {}
                Err(_) => return,
            }
        } else if is_over {
            return;
        }
    }
}

fn is_transient(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted)
}

fn keep(bytes: &[u8], log: &Mutex<CapturedOutput>, process: Option<&OwnedFd>) {
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    log.total += bytes.len() as u64;
    let excess = (log.tail.len() + bytes.len()).saturating_sub(TAIL_BYTES);
    let excess = excess.min(log.tail.len());
    log.tail.drain(..excess);
    log.tail.extend(bytes);
    if log.total > FLOOD_BYTES && !log.flooded {
        log.flooded = true;
        if let Some(process) = process {
            // A process that has already ended needs no signal.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}
