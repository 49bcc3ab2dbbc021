//! What happens between fork and exec, where only async-signal-safe calls are allowed and nothing may be allocated.

#![expect(unsafe_code, reason = "limits and descriptors are set between fork and exec")]

use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::thread::CpuSet;

use crate::spawn::io;
use crate::{JailSpec, ProcessLimits, SpawnError, clocks, jail_uid};

/// Descriptors that the child may keep, beside the first three.
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
        let core = spec.core.map(clocks::core_set).transpose().map_err(io("pin"))?;
        Ok(Self { core, nice: spec.nice, limits: spec.limits, keep })
    }

    pub(crate) fn add_to(self, command: &mut Command) {
        if let Some(uid) = jail_uid() {
            // The standard library also drops all supplementary groups then.
            command.uid(uid).gid(uid);
        }
        let table = self.limits.table();
        let prepare = move || {
            if let Some(core) = &self.core {
                rustix::thread::sched_setaffinity(None, core)?;
            }
            // Who started us may have made us nicer already, and nobody may take that back.
            let nice = self.nice.max(rustix::process::getpriority_process(None)?);
            rustix::process::setpriority_process(None, nice)?;
            table.iter().try_for_each(|(resource, value)| lower_limit(*resource, *value))?;
            inherit_only(self.keep)
        };
        // SAFETY: `prepare` makes system calls on plain data only: no allocation, no lock.
        unsafe { command.pre_exec(prepare) };
    }
}

fn lower_limit(resource: libc::__rlimit_resource_t, value: u64) -> std::io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` is a valid place for the result.
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

/// Everything above 2 closes on exec, also what some library opened without the flag; `keep` stays.
fn inherit_only(keep: Kept) -> std::io::Result<()> {
    let flags = i32::try_from(libc::CLOSE_RANGE_CLOEXEC).unwrap_or(i32::MAX);
    // SAFETY: sets a flag of our own descriptors in the forked child.
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
