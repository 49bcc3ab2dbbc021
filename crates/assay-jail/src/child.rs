//! A running jail: its process, its log, and its end.

#![expect(unsafe_code, reason = "wait4 is the only call that reports the resources used")]

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, pidfd_send_signal};

use crate::memory_watch::MemoryWatch;
use crate::output::OutputDrain;
use crate::wait::wait_readable;
use crate::{Activity, Exit, ExitReason, clocks, priority};

/// Time for bubblewrap to report that the program was killed, before it is killed too.
const REPORT_LIMIT: Duration = Duration::from_secs(2);
/// Time for the kernel to release a killed process; after it (because of a hung disk), a thread waits for the process.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

/// A jailed process. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub struct Child {
    /// The child of this process that reports the program's end: bubblewrap, or the program itself.
    monitor: Pid,
    monitor_fd: OwnedFd,
    /// The program.
    program: Pid,
    /// `None` if it ended before it could be opened.
    program_fd: Option<OwnedFd>,
    output: OutputDrain,
    memory: Option<MemoryWatch>,
    killed: bool,
    exit: Option<Exit>,
    /// Links through which the program finds its files; dropped after its end.
    links: Option<tempfile::TempDir>,
    has_lower_priority: bool,
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
            memory: None,
            killed: false,
            exit: None,
            links: None,
            has_lower_priority: false,
            began: Instant::now(),
        }
    }

    /// Keeps a folder of links for as long as the process.
    pub(crate) fn with_links(mut self, links: Option<tempfile::TempDir>) -> Self {
        self.links = links;
        self
    }

    /// Returns the program's pid in the host's namespace, which is also that of a lane.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.program.as_raw_nonzero().get()
    }

    /// Pins all its threads to one processor.
    ///
    /// # Errors
    /// The processor does not exist.
    pub fn pin(&self, core: usize) -> std::io::Result<()> {
        clocks::pin(self.program, core)
    }

    /// Lowers its priority below everything else on the machine. Returns true if the kernel and the privileges of this
    /// process allow that. Meant for processes that start before they are needed; to be called soon after the start.
    pub fn lower_priority(&mut self) -> bool {
        self.has_lower_priority = priority::lower(self.program);
        self.has_lower_priority
    }

    /// Restores its normal priority.
    ///
    /// # Errors
    /// The kernel refuses; the priority stays low.
    pub fn compete(&mut self) -> std::io::Result<()> {
        match std::mem::take(&mut self.has_lower_priority) {
            true => priority::restore(self.program),
            false => Ok(()),
        }
    }

    /// Returns the CPU time of all its threads since its start; `None` after its end.
    #[must_use]
    pub fn cpu_time(&self) -> Option<Duration> {
        clocks::cpu_time(self.program)
    }

    /// Returns the current activity of its threads, seen from outside; `None` after its end. Alone in its pid
    /// namespace, or without a system call that sends signals, it cannot stop itself.
    #[must_use]
    pub fn activity(&self) -> Option<Activity> {
        clocks::activity(self.program)
    }

    /// Kills it once it has written more than `limit` bytes of memory and shares them with no file. Then the reason of
    /// its end is [`ExitReason::OverMemory`]. To be called once.
    ///
    /// # Errors
    /// No thread can be started, or this process has too many open files.
    pub fn limit_memory(&mut self, limit: u64) -> std::io::Result<()> {
        if let Some(process) = &self.program_fd {
            self.memory = Some(MemoryWatch::start(self.program, process.try_clone()?, limit)?);
        }
        Ok(())
    }

    /// Returns the end of its output, at most [`crate::TAIL_BYTES`]: untrusted bytes.
    #[must_use]
    pub fn output_tail(&self) -> Vec<u8> {
        self.output.tail()
    }

    /// Returns its exit, if it has ended.
    pub fn try_wait(&mut self) -> Option<Exit> {
        self.wait_deadline(Duration::ZERO)
    }

    /// Waits at most `limit` for its end, and returns its exit.
    pub fn wait_deadline(&mut self, limit: Duration) -> Option<Exit> {
        if self.exit.is_none() && wait_readable(&self.monitor_fd, limit) {
            self.reap();
        }
        self.exit.clone()
    }

    /// Kills it, waits for its end, and returns its exit.
    pub fn kill(&mut self) -> Exit {
        if let Some(exit) = self.try_wait() {
            return exit;
        }
        self.killed = true;
        match &self.program_fd {
            // Errors are ignored: the program may have ended, and bubblewrap is about to report it.
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
        // Killing the monitor kills the program too (--die-with-parent).
        let _ = pidfd_send_signal(&self.monitor_fd, Signal::KILL);
    }

    /// Reads the status of an ended monitor, and the rest of the log.
    fn reap(&mut self) {
        let mut status = 0;
        // SAFETY: rusage is plain data, for which all zeroes is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // `__WALL`: a forked child may end without a signal to this process.
        // SAFETY: `status` and `usage` are valid for writing; the pid is a child of this process, not reaped before.
        let got = unsafe {
            libc::wait4(
                self.monitor.as_raw_nonzero().get(),
                &raw mut status,
                libc::WNOHANG | libc::__WALL,
                &raw mut usage,
            )
        };
        if got == 0 {
            return;
        }
        self.output.finish();
        let over_memory = self.memory.as_ref().and_then(MemoryWatch::exceeded);
        let by_us = match (self.output.is_flooded(), over_memory, self.killed) {
            (true, ..) => Some(ExitReason::Flooded),
            (false, Some(limit), _) => Some(ExitReason::OverMemory(limit)),
            (false, None, true) => Some(ExitReason::Killed),
            (false, None, false) => None,
        };
        self.exit = Some(Exit::new(status, &usage, by_us, (self.output.total(), self.began)));
    }

    /// Gives up waiting for a process that the kernel does not release. A thread reaps it, so that it does not stay a
    /// zombie.
    fn abandon(&mut self) -> Exit {
        let monitor = self.monitor;
        let waits = std::thread::Builder::new().name("jail-reaper".to_owned());
        // If the thread cannot be created, a zombie stays until this process ends.
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
