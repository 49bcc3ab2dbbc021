//! Sets up a child between fork and exec, where only async-signal-safe calls and no allocations are allowed.

#![expect(unsafe_code, reason = "limits and descriptors are set between fork and exec")]

use std::io::PipeWriter;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::thread::CpuSet;

use crate::spawn_error::io;
use crate::{JailSpec, ProcessLimits, SpawnError, clocks, jail_uid};

/// Descriptors that the child keeps, in addition to the first three.
pub(crate) type Kept = [Option<RawFd>; 4];

/// User, processor, niceness, limits and descriptors of a child.
#[derive(Debug)]
pub(crate) struct ChildSetup {
    core: Option<CpuSet>,
    nice: i32,
    limits: ProcessLimits,
    keep: Kept,
}

impl ChildSetup {
    pub(crate) fn of(spec: &JailSpec, keep: Kept) -> Result<Self, SpawnError> {
        let core = spec.core.map(clocks::core_set).transpose().map_err(io("pin the process"))?;
        Ok(Self { core, nice: spec.nice, limits: spec.limits, keep })
    }

    pub(crate) fn add_to(self, command: &mut Command) {
        if let Some(uid) = jail_uid() {
            // With a user id, the standard library also drops all supplementary groups.
            command.uid(uid).gid(uid);
        }
        let table = self.limits.table();
        let prepare = move || {
            if let Some(core) = &self.core {
                rustix::thread::sched_setaffinity(None, core)?;
            }
            // This process may already have a higher niceness, which an unprivileged process cannot lower.
            let nice = self.nice.max(rustix::process::getpriority_process(None)?);
            rustix::process::setpriority_process(None, nice)?;
            table.iter().try_for_each(|(resource, value)| lower_limit(*resource, *value))?;
            inherit_only(self.keep)
        };
        // SAFETY: `prepare` makes system calls on plain data only: no allocation, no lock.
        unsafe { command.pre_exec(prepare) };
    }
}

/// Connects descriptors 0, 1 and 2 of the program: standard error to the log, standard output too unless it has its
/// own.
pub(crate) fn connect(
    command: &mut Command,
    (stdin, stdout): (Option<OwnedFd>, Option<OwnedFd>),
    log: PipeWriter,
) -> std::io::Result<()> {
    command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
    command.stdout(match stdout {
        Some(stdout) => Stdio::from(stdout),
        None => Stdio::from(log.try_clone()?),
    });
    command.stderr(log);
    Ok(())
}

fn lower_limit(resource: libc::__rlimit_resource_t, value: u64) -> std::io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` is valid for writing the result.
    if unsafe { libc::getrlimit(resource, &raw mut now) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    let value = value.min(now.rlim_max);
    let new = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: `new` is valid.
    if unsafe { libc::setrlimit(resource, &raw const new) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// Sets close-on-exec on every descriptor above 2, even those that a library opened without it; `keep` stays open.
fn inherit_only(keep: Kept) -> std::io::Result<()> {
    let flags = i32::try_from(libc::CLOSE_RANGE_CLOEXEC).unwrap_or(i32::MAX);
    // SAFETY: sets a flag of descriptors of the forked child.
    if unsafe { libc::close_range(3, libc::c_uint::MAX, flags) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    for fd in keep.into_iter().flatten() {
        // SAFETY: clears a flag of a descriptor that is open: the parent holds it across the fork.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}
