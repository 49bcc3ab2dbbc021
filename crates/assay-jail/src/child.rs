//! A running jail: its process, its log, and its end.

#![expect(unsafe_code, reason = "wait4 is the only call that tells the resources used")]

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, pidfd_send_signal};

use crate::output::OutputDrain;
use crate::{Activity, Exit, ExitReason, clocks, priority};

/// After the program is killed, bubblewrap gets this long to report it, then it is killed too.
const REPORT_LIMIT: Duration = Duration::from_secs(2);
/// A killed process that the kernel does not release within this time (a hung disk) is left to a thread to wait for.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

/// A jailed process. Dropping it kills it and waits until nothing of it is left.
#[derive(Debug)]
pub struct Child {
    /// Our child, which reports how the program ended: bubblewrap, or the program itself.
    monitor: Pid,
    monitor_fd: OwnedFd,
    /// The program.
    program: Pid,
    /// `None` when it had ended before we could take hold of it.
    program_fd: Option<OwnedFd>,
    output: OutputDrain,
    killed: bool,
    exit: Option<Exit>,
    /// Links that the program finds its files by; dropped after its end.
    links: Option<tempfile::TempDir>,
    gave_way: bool,
    began: Instant,
}

impl Child {
    pub(crate) fn new(monitor: (Pid, OwnedFd), program: (Pid, Option<OwnedFd>), output: OutputDrain) -> Self {
        let ((monitor, monitor_fd), (program, program_fd)) = (monitor, program);
        Self {
            monitor,
            monitor_fd,
            program,
            program_fd,
            output,
            killed: false,
            exit: None,
            links: None,
            gave_way: false,
            began: Instant::now(),
        }
    }

    /// Keeps a folder as long as the process.
    pub(crate) fn with(mut self, links: Option<tempfile::TempDir>) -> Self {
        self.links = links;
        self
    }

    /// The program's pid, as the host (and a lane) sees it.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.program.as_raw_nonzero().get()
    }

    /// Pins all its threads to one processor.
    ///
    /// # Errors
    /// No such processor.
    pub fn pin(&self, core: usize) -> std::io::Result<()> {
        clocks::pin(self.program, core)
    }

    /// Lets everything else on the machine go first, where the kernel and our rights allow it; whether they do. For what
    /// starts before anybody needs it; to be called soon after the start.
    pub fn give_way(&mut self) -> bool {
        self.gave_way = priority::lower(self.program);
        self.gave_way
    }

    /// Lets it compete for the processor like everything else again.
    ///
    /// # Errors
    /// The kernel refuses: it stays behind.
    pub fn compete(&mut self) -> std::io::Result<()> {
        match std::mem::take(&mut self.gave_way) {
            true => priority::restore(self.program),
            false => Ok(()),
        }
    }

    /// CPU time of all its threads since its start; `None` when it is gone.
    #[must_use]
    pub fn cpu_time(&self) -> Option<Duration> {
        clocks::cpu_time(self.program)
    }

    /// What its threads are doing at this moment, seen from outside; `None` when it is gone. Alone with its process ids, or
    /// without a call that sends signals, it can't stop itself.
    #[must_use]
    pub fn activity(&self) -> Option<Activity> {
        clocks::activity(self.program)
    }

    /// The end of what it printed, at most [`crate::TAIL_BYTES`]: untrusted bytes.
    #[must_use]
    pub fn output_tail(&self) -> Vec<u8> {
        self.output.tail()
    }

    /// How it ended, if it has.
    pub fn try_wait(&mut self) -> Option<Exit> {
        self.wait_deadline(Duration::ZERO)
    }

    /// Waits at most `limit` for its end.
    pub fn wait_deadline(&mut self, limit: Duration) -> Option<Exit> {
        if self.exit.is_none() && wait_readable(&self.monitor_fd, limit) {
            self.reap();
        }
        self.exit.clone()
    }

    /// Kills it and waits until it is gone. Once it has ended, tells how.
    pub fn kill(&mut self) -> Exit {
        if let Some(exit) = self.try_wait() {
            return exit;
        }
        self.killed = true;
        match &self.program_fd {
            // Already gone is as good: then bubblewrap is about to report it.
            Some(fd) => {
                let _ = pidfd_send_signal(fd, Signal::KILL);
            }
            None => self.kill_monitor(),
        }
        if let Some(exit) = self.wait_deadline(REPORT_LIMIT) {
            return exit;
        }
        self.kill_monitor();
        if let Some(exit) = self.wait_deadline(RELEASE_LIMIT) {
            return exit;
        }
        self.abandon()
    }

    fn kill_monitor(&self) {
        // Its death kills the program too (--die-with-parent).
        let _ = pidfd_send_signal(&self.monitor_fd, Signal::KILL);
    }

    /// bubblewrap has ended: takes its status and what is left of the log.
    fn reap(&mut self) {
        let mut status = 0;
        // SAFETY: rusage is plain data, for which all zeroes is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `status` and `usage` are valid places; the pid is our own child, not reaped before.
        let got =
            unsafe { libc::wait4(self.monitor.as_raw_nonzero().get(), &raw mut status, libc::WNOHANG, &raw mut usage) };
        if got == 0 {
            return;
        }
        self.output.finish();
        let by_us = match (self.output.is_flooded(), self.killed) {
            (true, _) => Some(ExitReason::Flooded),
            (false, true) => Some(ExitReason::Killed),
            (false, false) => None,
        };
        self.exit = Some(Exit::new(status, &usage, by_us, (self.output.total(), self.began)));
    }

    /// The kernel does not let go of it. A thread waits on, so that it does not stay a zombie.
    fn abandon(&mut self) -> Exit {
        let monitor = self.monitor;
        let waits = std::thread::Builder::new().name("jail-reaper".to_owned());
        // Without the thread a zombie stays until we end, and nothing can be done about it.
        drop(waits.spawn(move || rustix::process::waitpid(Some(monitor), rustix::process::WaitOptions::empty())));
        // SAFETY: rusage is plain data, for which all zeroes is valid.
        let usage: libc::rusage = unsafe { std::mem::zeroed() };
        let exit = Exit::new(libc::SIGKILL, &usage, Some(ExitReason::Killed), (self.output.total(), self.began));
        self.exit = Some(exit.clone());
        exit
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.exit.is_none() {
            self.kill();
        }
    }
}

/// Waits until `fd` is readable (a pidfd: its process has ended).
pub(crate) fn wait_readable(fd: &impl std::os::fd::AsFd, limit: Duration) -> bool {
    // A limit beyond the clock's range is none.
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
