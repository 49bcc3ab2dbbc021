//! A process that has imported a runtime and forks the processes of one policy, each into its own jail.
//!
//! [`ForkServer::start`] runs the program in namespaces without anything of a policy. Each [`ForkServer::fork`] then
//! returns a child of *this* process in a jail with the same fences as [`Jail::spawn`] gives a policy: the fork server
//! clones it as a sibling (`CLONE_PARENT`), and the child mounts its root, gives up its capabilities and loads the
//! filters before it reads anything untrusted. See `python/runner/fork_server.py` for that half.
//!
//! The children of one fork server share the layout of their address space, so each policy needs its own.

mod launch;
mod message;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_model::ErrorChain;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::memory_file::memory_file;
use crate::output::OutputDrain;
use crate::priority::prefer_oom_kill;
use crate::spawn_error::io;
use crate::wait::wait_readable;
use crate::{Bind, Child, Exit, Jail, JailSpec, Profile, SpawnError, ruleset};

/// Environment variable with the descriptors that the program needs: its socket, `/proc`, and a policy's two filters.
const VARIABLE: &str = "ASSAY_FORK_SERVER";
/// Environment variable with the paths of its children's further files, in the order of their mounts; a JSON list.
const FILES_VARIABLE: &str = "ASSAY_FORK_SERVER_FILES";
/// Maximum time for the answer to a request. It takes milliseconds; the limit only ends what hangs, also where many
/// processes wait for a processor.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);
/// Time for a fork server that closed its socket to end before it is killed: so long only if it is starved of CPU.
const EXIT_LIMIT: Duration = Duration::from_secs(20);
const READY: &str = "ready ";
const PID: &str = "pid ";
const REFUSED: &str = "errno ";

/// The program of a fork server, and what its children will see.
#[derive(Debug)]
pub struct ForkServerSpec {
    /// The program, its environment and its limits, which its children inherit. Its first bind is the root; its
    /// standard input and output are not used.
    pub program: JailSpec,
    /// The folder with a folder for each child, which is mounted as `/policy`.
    pub slots: PathBuf,
    /// Further files that its children see, all read-only, at most [`MAX_FORK_FILES`]. Their paths in the jail are
    /// below `/policy`, and the slot of each child has an empty file at each.
    pub files: Vec<Bind>,
}

/// Maximum number of further files of a fork server's children.
pub const MAX_FORK_FILES: usize = 32;

/// A running fork server. Dropping it ends it; its children live on.
#[derive(Debug)]
pub struct ForkServer {
    child: Child,
    socket: OwnedFd,
    root: Bind,
    slots: PathBuf,
    files: Vec<Bind>,
    has_landlock: bool,
    is_ready: bool,
}

/// Descriptors of a forked policy.
#[derive(Debug)]
pub struct ForkStreams {
    /// Its descriptor 0.
    pub stdin: OwnedFd,
    /// Its descriptor 1.
    pub stdout: OwnedFd,
}

/// The reason why a fork server cannot fork.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// It has ended, or does not answer.
    #[error("the fork server has ended: {exit} {log}")]
    Ended {
        /// Its exit.
        exit: Exit,
        /// The end of its output.
        log: String,
    },
    /// Forking is not possible with this runtime or on this machine.
    #[error("this process can't be forked: {why}")]
    Impossible {
        /// The reason.
        why: String,
    },
    /// A descriptor, thread or message could not be created.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl ForkServer {
    /// Starts a fork server. Call it from a thread that outlives it and its children (see the crate's documentation).
    ///
    /// # Errors
    /// [`SpawnError`], in particular where user namespaces can't be created by this program.
    pub fn start(jail: &Jail, spec: ForkServerSpec) -> Result<Self, SpawnError> {
        let ForkServerSpec { mut program, slots, files } = spec;
        let root = program.binds.first().cloned().ok_or_else(|| SpawnError::NoSource { path: PathBuf::new() })?;
        for path in program.binds.iter().chain(&files).map(|bind| &bind.host).chain([&slots]) {
            crate::reachable::check_reachable(path)?;
        }
        program.env.push((FILES_VARIABLE.to_owned(), paths_in_jail(&files)?));
        let (socket, program_end) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|error| io("create a socket")(error.into()))?;
        let filters = jail.filters().of_forked_policy().map(memory_file);
        let [kill, allow] = filters;
        let (kill, allow) = (kill?, allow?);
        let proc = launch::proc_folder().map_err(io("open /proc"))?;
        let kept = [program_end.as_raw_fd(), proc.as_raw_fd(), kill.as_raw_fd(), allow.as_raw_fd()];
        program.env.push((VARIABLE.to_owned(), kept.map(|fd| fd.to_string()).join(",")));
        let child = launch::launch(jail, &program, (&slots, &files), kept)?;
        Ok(Self { child, socket, root, slots, files, has_landlock: jail.has_landlock(), is_ready: false })
    }

    /// Returns the process, to change its priority.
    pub fn process(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Returns true if it is ready to fork, or has ended. Waits at most `limit`.
    #[must_use]
    pub fn is_ready(&self, limit: Duration) -> bool {
        self.is_ready || wait_readable(&self.socket, limit)
    }

    /// Waits until it has imported its libraries, at most `limit`. Stops when `is_cancelled` returns true.
    ///
    /// # Errors
    /// [`ForkError::Impossible`] if its libraries have started threads: a fork could copy a lock that one of them
    /// holds.
    pub fn wait_ready(&mut self, limit: Duration, is_cancelled: &dyn Fn() -> bool) -> Result<(), ForkError> {
        const TICK: Duration = Duration::from_millis(20);
        let end = Instant::now() + limit;
        while !self.is_ready(TICK) {
            if is_cancelled() || Instant::now() > end {
                return Err(self.ended());
            }
        }
        if self.is_ready {
            return Ok(());
        }
        let Some((text, _)) = message::receive(self.socket.as_fd()) else { return Err(self.ended()) };
        match text.strip_prefix(READY) {
            Some("1") => {
                self.is_ready = true;
                Ok(())
            }
            Some(threads) => Err(ForkError::Impossible { why: format!("its libraries run {threads} threads") }),
            None => Err(self.ended()),
        }
    }

    /// Starts a child with `slot`, a folder in the slots' folder, as its `/policy`.
    ///
    /// # Errors
    /// [`ForkError`]. That the child could not make its jail is not an error here: its exit and its log show it.
    pub fn fork(&mut self, slot: &Path, streams: &ForkStreams) -> Result<Child, ForkError> {
        let (log_reader, log_writer) = std::io::pipe().map_err(io("create a pipe"))?;
        let seal = if self.has_landlock { self.ruleset(slot)? } else { None };
        let mut given: Vec<BorrowedFd<'_>> = vec![streams.stdin.as_fd(), streams.stdout.as_fd(), log_writer.as_fd()];
        given.extend(seal.as_ref().map(AsFd::as_fd));
        let name = slot.strip_prefix(&self.slots).ok().and_then(Path::to_str);
        let name = name.ok_or_else(|| SpawnError::NoSource { path: slot.to_owned() })?;
        if message::send(self.socket.as_fd(), name, &given).is_err() || !wait_readable(&self.socket, ANSWER_LIMIT) {
            return Err(self.ended());
        }
        let Some((text, process)) = message::receive(self.socket.as_fd()) else { return Err(self.ended()) };
        let pid = text.strip_prefix(PID).and_then(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?));
        let (Some(pid), Some(process)) = (pid, process) else {
            return Err(refused(&text));
        };
        drop(log_writer);
        prefer_oom_kill(pid);
        let copy = || process.try_clone().map_err(io("duplicate a descriptor"));
        let (program, watched) = (copy()?, copy()?);
        let output = OutputDrain::drain(log_reader, Some(watched)).map_err(io("start the log thread"))?;
        Ok(Child::new((pid, process), (pid, Some(program)), output))
    }

    fn ruleset(&self, slot: &Path) -> Result<Option<OwnedFd>, SpawnError> {
        let mut seen = JailSpec::new(Profile::Policy, [""; 0]);
        seen.binds = vec![self.root.clone(), Bind::read_only(slot, "/policy")];
        seen.binds.extend(self.files.iter().cloned());
        ruleset::running(&seen).map_err(io("create a Landlock ruleset"))
    }

    /// Ends it, and returns the error with the end of its output. One that closed its socket gets time to end by
    /// itself, so that its exit shows why it ended.
    fn ended(&mut self) -> ForkError {
        let is_closed = wait_readable(&self.socket, Duration::ZERO);
        let grace = if is_closed { EXIT_LIMIT } else { Duration::ZERO };
        let exit = self.child.wait_deadline(grace).unwrap_or_else(|| self.child.kill());
        let log = String::from_utf8_lossy(&self.child.output_tail()).into_owned();
        ForkError::Ended { exit, log: log.trim().to_owned() }
    }
}

/// Returns the files' paths in the jail as a JSON list.
fn paths_in_jail(files: &[Bind]) -> Result<String, SpawnError> {
    let no_source = |bind: &Bind| SpawnError::NoSource { path: bind.inside.clone() };
    if let Some(beyond) = files.get(MAX_FORK_FILES) {
        return Err(no_source(beyond));
    }
    let paths = files.iter().map(|bind| bind.inside.to_str().ok_or_else(|| no_source(bind)));
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    Ok(serde_json::to_string(&paths).unwrap_or_default())
}

/// Returns the error of a fork that the kernel refused: a shortage may be over at the next attempt.
fn refused(answer: &str) -> ForkError {
    let Some(code) = answer.strip_prefix(REFUSED).and_then(|code| code.parse().ok()) else {
        return ForkError::Impossible { why: answer.to_owned() };
    };
    let source = std::io::Error::from_raw_os_error(code);
    let error = SpawnError::Io { doing: "fork a policy", source };
    if error.is_passing() { error.into() } else { ForkError::Impossible { why: ErrorChain(&error).to_string() } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_does_not_mean_that_forking_is_impossible() {
        for (answer, is_passing) in [("errno 11", true), ("errno 12", true), ("errno 1", false), ("nonsense", false)] {
            assert_eq!(matches!(refused(answer), ForkError::Spawn(_)), is_passing, "{answer}");
        }
    }
}
