//! Starting a jail: the one place where things happen between fork and exec.

#![expect(unsafe_code, reason = "limits and descriptors are set between fork and exec")]

use std::io::{PipeReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::CpuSet;

use crate::bwrap::{Descriptors, arguments};
use crate::child::wait_readable;
use crate::orphans::{kill_children, own_name};
use crate::output::Output;
use crate::stage::{Closed, check_reachable};
use crate::{Child, Jail, Limits, Spec, clocks};

/// A host user without rights, for when we are root: limits and namespaces do not hold root.
const NOBODY: u32 = 65534;
/// bubblewrap takes 5 ms; more than this is a broken machine.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of bubblewrap's description of the jail, and of its complaint.
const MAX_INFO_BYTES: usize = 4096;

/// A jail that could not be started. Always our fault, or the machine's.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// A bind that is not there.
    #[error("the jail's source {path} does not exist")]
    NoSource {
        /// On the host.
        path: PathBuf,
    },
    /// A bind that the jail's user can't reach.
    #[error("the jail's source can't be used")]
    Unreachable(#[from] Closed),
    /// A system call of ours failed.
    #[error("can't start a jail: {doing}")]
    Io {
        /// What we were doing.
        doing: &'static str,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// bubblewrap refused.
    #[error("bubblewrap could not make the jail: {message}")]
    Bubblewrap {
        /// What it printed.
        message: String,
    },
}

/// The host user that jails run as when it is not ourselves: set when we are root.
#[must_use]
pub fn jail_uid() -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(NOBODY)
}

impl Jail {
    /// Starts a jailed process. Call it from a thread that outlives the child (see the crate's documentation).
    ///
    /// # Errors
    /// [`SpawnError`]. A program that can't be executed is no error: it shows in the child's exit and log.
    pub fn spawn(&self, spec: Spec) -> Result<Child, SpawnError> {
        check_sources(&spec)?;
        let filters = self.filters.stack(spec.profile).map(memory_file);
        let [kill, allow] = filters;
        let (kill, allow) = (kill?, allow?);
        let (info_reader, info_writer) = std::io::pipe().map_err(io("pipe"))?;
        let (log_reader, log_writer) = std::io::pipe().map_err(io("pipe"))?;
        let used = Descriptors { filters: [kill.as_raw_fd(), allow.as_raw_fd()], info: info_writer.as_raw_fd() };

        let mut command = Command::new(self.bubblewrap());
        command.arg0(own_name()).args(arguments(&spec, &used)).env_clear().current_dir("/");
        command.stdout(log_writer.try_clone().map_err(io("dup"))?).stderr(log_writer);
        let core = spec.core.map(clocks::core_set).transpose().map_err(io("pin"))?;
        let keep = [used.filters[0], used.filters[1], used.info];
        restrict(&mut command, keep, spec.limits, core, spec.nice);
        command.stdin(spec.pass_fd.map_or_else(Stdio::null, Stdio::from));
        // Ctrl-C on a terminal is for us to answer: it must not look like the end of a policy.
        command.process_group(0);
        let monitor = command.spawn().map_err(io("start bubblewrap"))?;
        // Our copies of the pipes' ends have to go, or their readers would wait for ever.
        drop((command, info_writer));

        let raw = i32::try_from(monitor.id()).ok().and_then(Pid::from_raw);
        let monitor = raw.ok_or(SpawnError::Bubblewrap { message: "it has no pid".to_owned() })?;
        attend(monitor, info_reader, log_reader)
    }
}

/// Takes hold of a started jail.
fn attend(monitor: Pid, info: PipeReader, mut log: PipeReader) -> Result<Child, SpawnError> {
    let monitor_fd = pidfd_open(monitor, PidfdFlags::empty()).map_err(|e| io("pidfd_open")(e.into()))?;
    let Some(program) = program_pid(info) else {
        let message = complaint(monitor, &monitor_fd, &mut log);
        let _ = rustix::process::waitpid(Some(monitor), rustix::process::WaitOptions::empty());
        return Err(SpawnError::Bubblewrap { message });
    };
    let program_fd = match pidfd_open(program, PidfdFlags::empty()) {
        Ok(fd) => Some(fd),
        // Gone already: what bubblewrap reports is all there is to know.
        Err(rustix::io::Errno::SRCH) => None,
        Err(error) => {
            complaint(monitor, &monitor_fd, &mut log);
            let _ = rustix::process::waitpid(Some(monitor), rustix::process::WaitOptions::empty());
            return Err(io("pidfd_open")(error.into()));
        }
    };
    let watched = program_fd.as_ref().and_then(|fd| fd.try_clone().ok());
    // Memory pressure should end policies before it ends us. Best effort: not everybody may set it.
    drop(std::fs::write(format!("/proc/{}/oom_score_adj", program.as_raw_nonzero()), "1000"));
    let output = Output::drain(log, watched).map_err(io("start the log's thread"))?;
    Ok(Child::new((monitor, monitor_fd), (program, program_fd), output))
}

fn check_sources(spec: &Spec) -> Result<(), SpawnError> {
    for bind in &spec.binds {
        if !bind.host.exists() {
            return Err(SpawnError::NoSource { path: bind.host.clone() });
        }
        check_reachable(&bind.host)?;
    }
    Ok(())
}

/// bubblewrap reads its filters from descriptors.
fn memory_file(bytes: &[u8]) -> Result<OwnedFd, SpawnError> {
    let fd = rustix::fs::memfd_create("seccomp", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|error| io("memfd_create")(error.into()))?;
    let mut file = std::fs::File::from(fd);
    file.write_all(bytes).map_err(io("write the filter"))?;
    std::io::Seek::rewind(&mut file).map_err(io("rewind the filter"))?;
    Ok(file.into())
}

/// What happens between fork and exec, where only async-signal-safe calls are allowed and nothing may be allocated.
fn restrict(command: &mut Command, keep: [RawFd; 3], limits: Limits, core: Option<CpuSet>, nice: i32) {
    if let Some(uid) = jail_uid() {
        // The standard library also drops all supplementary groups then.
        command.uid(uid).gid(uid);
    }
    let table = limits.table();
    let prepare = move || {
        if let Some(core) = &core {
            rustix::thread::sched_setaffinity(None, core)?;
        }
        rustix::process::setpriority_process(None, nice)?;
        table.iter().try_for_each(|(resource, value)| lower_limit(*resource, *value))?;
        inherit_only(keep)
    };
    // SAFETY: `prepare` makes system calls on plain data only: no allocation, no lock.
    unsafe { command.pre_exec(prepare) };
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
fn inherit_only(keep: [RawFd; 3]) -> std::io::Result<()> {
    let flags = i32::try_from(libc::CLOSE_RANGE_CLOEXEC).unwrap_or(i32::MAX);
    // SAFETY: sets a flag of our own descriptors in the forked child.
    if unsafe { libc::close_range(3, libc::c_uint::MAX, flags) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    for fd in keep {
        // SAFETY: clears a flag of a descriptor that is open: the parent holds it across the fork.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Reads the program's pid from what bubblewrap tells; `None` when it ended, or hung, before.
fn program_pid(mut info: PipeReader) -> Option<Pid> {
    let end = Instant::now() + START_LIMIT;
    let mut text = Vec::new();
    let mut buffer = [0; 512];
    while !text.contains(&b'}') && text.len() < MAX_INFO_BYTES {
        if !wait_readable(&info, end.saturating_duration_since(Instant::now())) {
            return None;
        }
        match info.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(n) => text.extend_from_slice(&buffer[..n]),
        }
    }
    let info: serde_json::Value = serde_json::from_slice(&text).ok()?;
    Pid::from_raw(i32::try_from(info.get("child-pid")?.as_i64()?).ok()?)
}

/// What a bubblewrap that failed has printed. One that hangs is killed.
fn complaint(monitor: Pid, monitor_fd: &OwnedFd, log: &mut PipeReader) -> String {
    if !wait_readable(monitor_fd, Duration::from_millis(500)) {
        kill_children(monitor);
        let _ = rustix::process::pidfd_send_signal(monitor_fd, rustix::process::Signal::KILL);
    }
    let mut text = vec![0; MAX_INFO_BYTES];
    let is_there = wait_readable(log, Duration::from_millis(100));
    let n = if is_there { log.read(&mut text).unwrap_or(0) } else { 0 };
    let text = String::from_utf8_lossy(&text[..n]);
    let text = text.trim();
    if text.is_empty() { "it ended without a word".to_owned() } else { text.to_owned() }
}

fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> SpawnError {
    move |source| SpawnError::Io { doing, source }
}
