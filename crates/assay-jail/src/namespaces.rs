//! Starts a jail in namespaces, with bubblewrap.

use std::io::{PipeReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::bwrap::{Descriptors, arguments};
use crate::child_setup::{ChildSetup, connect};
use crate::memory_file::memory_file;
use crate::orphans::{kill_children, own_name};
use crate::output::OutputDrain;
use crate::priority::prefer_oom_kill;
use crate::spawn_error::io;
use crate::wait::wait_readable;
use crate::{Child, Jail, JailSpec, SpawnError, ruleset};

/// Maximum time for bubblewrap. It takes 5 ms; the limit only ends what hangs, also where many processes wait for a
/// processor.
const START_LIMIT: Duration = Duration::from_secs(120);
/// Time for a bubblewrap that reported an error to end before it is killed.
const END_LIMIT: Duration = Duration::from_secs(10);
/// Time for the output of an ended bubblewrap to arrive.
const LOG_LIMIT: Duration = Duration::from_secs(1);
/// Maximum size of bubblewrap's description of the jail, and of its error message, in bytes.
const MAX_INFO_BYTES: usize = 4096;

/// Starts bubblewrap, which starts the program.
pub(crate) fn spawn(jail: &Jail, spec: JailSpec) -> Result<Child, SpawnError> {
    let [kill, allow] = jail.filters().stack(spec.profile, spec.profile.has_pid_namespace()).map(memory_file);
    let (kill, allow) = (kill?, allow?);
    let seal = match spec.seals_itself {
        true => ruleset::running(&spec).map_err(io("create a Landlock ruleset"))?,
        false => None,
    };
    let (info_reader, info_writer) = std::io::pipe().map_err(io("create a pipe"))?;
    let (log_reader, log_writer) = std::io::pipe().map_err(io("create a pipe"))?;
    let used = Descriptors {
        filters: [kill.as_raw_fd(), allow.as_raw_fd()],
        info: info_writer.as_raw_fd(),
        seal: seal.as_ref().map(AsRawFd::as_raw_fd),
    };

    let mut command = Command::new(jail.bubblewrap().unwrap_or("bwrap".as_ref()));
    command.arg0(own_name()).args(arguments(&spec, &used)).env_clear().current_dir("/");
    let [kill, allow] = used.filters;
    ChildSetup::of(&spec, [Some(kill), Some(allow), Some(used.info), used.seal])?.add_to(&mut command);
    connect(&mut command, (spec.stdin, spec.stdout), log_writer).map_err(io("duplicate a descriptor"))?;
    // Ctrl-C on a terminal is handled by this process: it must not look like the end of a policy.
    command.process_group(0);
    let monitor = command.spawn().map_err(io("start bubblewrap"))?;
    // Close this process's copies of the pipes' ends, otherwise their readers would wait forever.
    drop((command, info_writer));

    let raw = i32::try_from(monitor.id()).ok().and_then(Pid::from_raw);
    let monitor = raw.ok_or(SpawnError::Bubblewrap { message: "it has no pid".to_owned() })?;
    adopt(monitor, info_reader, log_reader)
}

/// Opens handles of a started jail.
fn adopt(monitor: Pid, info: PipeReader, mut log: PipeReader) -> Result<Child, SpawnError> {
    let monitor_fd = pidfd_open(monitor, PidfdFlags::empty()).map_err(|e| io("open a process handle")(e.into()))?;
    let Some(program) = program_pid(info) else {
        let message = error_message(monitor, &monitor_fd, &mut log);
        let _ = rustix::process::waitpid(Some(monitor), rustix::process::WaitOptions::empty());
        return Err(SpawnError::Bubblewrap { message });
    };
    let program_fd = match pidfd_open(program, PidfdFlags::empty()) {
        Ok(fd) => Some(fd),
        // The program has ended; bubblewrap reports its exit.
        Err(rustix::io::Errno::SRCH) => None,
        Err(error) => {
            error_message(monitor, &monitor_fd, &mut log);
            let _ = rustix::process::waitpid(Some(monitor), rustix::process::WaitOptions::empty());
            return Err(io("open a process handle")(error.into()));
        }
    };
    let watched = program_fd.as_ref().and_then(|fd| fd.try_clone().ok());
    prefer_oom_kill(program);
    let output = OutputDrain::drain(log, watched).map_err(io("start the log thread"))?;
    Ok(Child::new((monitor, monitor_fd), (program, program_fd), output))
}

/// Reads the program's pid from bubblewrap's description; `None` if it ended or hung before writing it.
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

/// Returns the output of a bubblewrap that failed. If it hangs, it is killed first.
fn error_message(monitor: Pid, monitor_fd: &OwnedFd, log: &mut PipeReader) -> String {
    if !wait_readable(monitor_fd, END_LIMIT) {
        kill_children(monitor);
        let _ = rustix::process::pidfd_send_signal(monitor_fd, rustix::process::Signal::KILL);
    }
    let mut text = vec![0; MAX_INFO_BYTES];
    let is_there = wait_readable(log, LOG_LIMIT);
    let n = if is_there { log.read(&mut text).unwrap_or(0) } else { 0 };
    let text = String::from_utf8_lossy(&text[..n]);
    let text = text.trim();
    if text.is_empty() { "it ended without a message".to_owned() } else { text.to_owned() }
}
