//! The lane's end of a policy's stream: sends observations, waits for actions within the budget, and converts any other
//! answer into a result.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use assay_model::frame::{self, FrameKind, HEADER_BYTES, Header, Init, MAX_REPLY_BYTES, PolicyFault};
use assay_model::lane::{RunEpisode, WAIT_REPEAT, WAIT_TICK};
use assay_model::{EpisodeError, PolicyErrorCode, sanitise};
use assay_scenario::Budget;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::chunk_budget::ChunkBudget;
use crate::cpu_clock::CpuClock;

/// Interval at which a waiting lane reads the policy's clock.
const TICK: Duration = WAIT_TICK;
/// Time without an answer after which a relay counts as broken. Longer than any deadline of its policy server, so that
/// the relay itself can report the failure.
const RELAY_WATCHDOG: Duration = Duration::from_secs(30);
/// Maximum length of a policy's error message and traceback, in bytes.
const MAX_ERROR_BYTES: usize = 4096;

/// The reason why a policy ended an episode early.
#[derive(Debug)]
pub(crate) enum PolicyTermination {
    /// It crashed or sent an invalid action.
    Error(EpisodeError),
    /// It used up its CPU time.
    Timeout(EpisodeError),
}

/// The reason why there is no answer.
#[derive(Debug)]
pub(crate) enum LinkError {
    /// The policy's fault.
    Policy(PolicyTermination),
    /// The worker that would receive the events of the wait no longer exists.
    Control(io::Error),
}

impl From<PolicyTermination> for LinkError {
    fn from(fault: PolicyTermination) -> Self {
        Self::Policy(fault)
    }
}

/// Receives the events of waiting for a policy.
pub(crate) trait WaitEvents {
    /// Called when the policy has not answered for a while; repeated at least every [`WAIT_REPEAT`].
    fn waiting(&mut self) -> io::Result<()>;
    /// Called when the wait is over: the policy has answered, or never will.
    fn answered(&mut self) -> io::Result<()>;
}

/// One wait for the policy.
#[derive(Debug)]
struct Wait {
    began: Instant,
    /// Time of the last report.
    reported: Option<Instant>,
}

impl Wait {
    fn begin() -> Self {
        Self { began: Instant::now(), reported: None }
    }

    fn check_in(&mut self, events: &mut dyn WaitEvents) -> Result<(), LinkError> {
        if self.reported.is_none_or(|at| at.elapsed() >= WAIT_REPEAT) {
            self.reported = Some(Instant::now());
            events.waiting().map_err(LinkError::Control)?;
        }
        Ok(())
    }

    fn end(self, events: &mut dyn WaitEvents) -> Result<(), LinkError> {
        if self.reported.is_some() { events.answered().map_err(LinkError::Control) } else { Ok(()) }
    }
}

/// A connected policy.
#[derive(Debug)]
pub(crate) struct PolicyLink {
    to: File,
    from: File,
    nonce: u64,
    clock: Option<CpuClock>,
    /// Reading of the clock at which the import's budget is exhausted.
    import_ends_at: Option<Duration>,
    budget: Budget,
    seq: u32,
    /// CPU time at the last answer, so that time used between two calls is counted.
    cpu_at_answer: Duration,
    cpu_at_start: Duration,
    buffer: Vec<u8>,
    chunks: ChunkBudget,
    /// Number of actions in the longest answer, as the policy's side says.
    longest_answer: u16,
    environment: Option<EnvironmentLink>,
}

/// The counterpart is a Python environment, which waits for its user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EnvironmentLink {
    /// True if each observation carries a picture.
    pub(crate) pictures: bool,
}

/// An answered observation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PolicyReply {
    /// Wall-clock time from sending the observation to receiving the whole action.
    pub(crate) latency: Duration,
    /// CPU time of the policy's process since its last answer; `None` for a policy server.
    pub(crate) cpu: Option<Duration>,
}

impl PolicyLink {
    /// Creates a link for the policy of `run` from the descriptors to write to and to read from.
    pub(crate) fn new((to, from): (OwnedFd, OwnedFd), run: &RunEpisode, budget: Budget) -> io::Result<Self> {
        // A policy that does not read must not block the lane.
        fcntl_setfl(&to, fcntl_getfl(&to)? | OFlags::NONBLOCK)?;
        let (to, from) = (File::from(to), File::from(from));
        let clock = run.policy_pid.map(CpuClock::of);
        let cpu_at_answer = clock.and_then(CpuClock::read).unwrap_or_default();
        let cpu_at_start = cpu_at_answer;
        Ok(Self {
            to,
            from,
            nonce: run.nonce,
            clock,
            import_ends_at: run.import_ends_at_ns.map(Duration::from_nanos),
            budget,
            seq: 0,
            cpu_at_answer,
            cpu_at_start,
            buffer: Vec::new(),
            chunks: ChunkBudget::new(run.replan_steps),
            longest_answer: 0,
            environment: None,
        })
    }

    /// Makes this the link of an environment: it receives feedback, and its answers may take any time.
    pub(crate) fn of_environment(mut self, pictures: bool) -> Self {
        self.environment = Some(EnvironmentLink { pictures });
        self
    }

    /// Returns what the environment asked for; `None` for a policy.
    pub(crate) fn environment(&self) -> Option<EnvironmentLink> {
        self.environment
    }

    /// Sends an environment its last observation. An environment that is gone does not need it.
    pub(crate) fn send_last(&mut self, observation: &[u8], events: &mut dyn WaitEvents) {
        let _ = self.send(FrameKind::Last, self.seq, observation, self.budget.hard_cpu_ms, events);
    }

    /// Returns the number of control steps, or of chunks of them, over the budget so far.
    pub(crate) fn misses(&self) -> u32 {
        self.chunks.misses()
    }

    /// Returns the number of actions in the policy's longest answer; `None` if it never answered.
    pub(crate) fn chunk(&self) -> Option<u32> {
        (self.longest_answer > 0).then_some(u32::from(self.longest_answer))
    }

    /// Returns the CPU time of the policy's process since the link was created, as far as it is visible.
    pub(crate) fn cpu_used(&self) -> Duration {
        self.cpu().unwrap_or(self.cpu_at_answer).saturating_sub(self.cpu_at_start)
    }

    /// Announces the episode and waits until the policy is reset.
    pub(crate) fn start(&mut self, init: &Init, events: &mut dyn WaitEvents) -> Result<(), LinkError> {
        if self.import_ends_at.is_some_and(|end| self.cpu_at_start > end) {
            let message = "the policy used up its import's CPU time between the end of its import and the episode: a \
                           thread that it had started went on working";
            return Err(termination(PolicyErrorCode::ImportTimeout, message, "").into());
        }
        let payload = serde_json::to_vec(init).map_err(|e| broken(&e.to_string()))?;
        let limit = self.budget.first_cpu_ms;
        self.send(FrameKind::Init, 0, &payload, limit, events)?;
        self.receive(FrameKind::Ready, 0, 0, limit, events)?;
        Ok(())
    }

    /// Sends an observation (raw bytes, time and time remaining first) and reads the action into `action`.
    pub(crate) fn ask(
        &mut self,
        observation: &[u8],
        action: &mut [f64],
        events: &mut dyn WaitEvents,
    ) -> Result<PolicyReply, LinkError> {
        let began = Instant::now();
        let seq = self.seq;
        let hard_ms = if seq == 0 { self.budget.first_cpu_ms } else { self.budget.hard_cpu_ms };
        self.send(FrameKind::Observation, seq, observation, hard_ms, events)?;
        let used = self.receive(FrameKind::Action, seq, action.len() * 8, hard_ms, events)?;
        let latency = began.elapsed();
        // A server's latency is reported but not limited: it depends on the network, and on this machine's load.
        match (self.clock, seq) {
            (None, _) => {}
            (Some(_), 0) => self.chunks.first(used, self.budget.first_cpu_ms),
            (Some(_), step) => self.chunks.add(step, used, self.budget.step_cpu_ms),
        }
        self.seq += 1;
        for (slot, bytes) in action.iter_mut().zip(self.buffer[HEADER_BYTES..].chunks_exact(8)) {
            *slot = f64::from_le_bytes(bytes.try_into().unwrap_or([0xff; 8]));
        }
        if let Some(index) = action.iter().position(|x| !x.is_finite()) {
            let message = format!("action[{index}] is {}: every number of an action must be finite", action[index]);
            return Err(termination(PolicyErrorCode::BadAction, &message, "").into());
        }
        Ok(PolicyReply { latency, cpu: self.clock.map(|_| used) })
    }

    /// Announces the end of the episode; the policy may be gone or no longer reading.
    pub(crate) fn close(mut self) {
        let _ = self.to.write(&frame::frame(FrameKind::Close, self.seq, self.nonce, &[]));
    }

    fn send(
        &mut self,
        kind: FrameKind,
        seq: u32,
        payload: &[u8],
        hard_ms: f64,
        events: &mut dyn WaitEvents,
    ) -> Result<(), LinkError> {
        let bytes = frame::frame(kind, seq, self.nonce, payload);
        let mut wait = Wait::begin();
        let is_open = self.write_all(&bytes, hard_ms, &mut wait, events);
        wait.end(events)?;
        // The policy may have sent the reason before it ended.
        if is_open? { Ok(()) } else { Err(self.final_error(events)) }
    }

    /// Writes a frame; returns false if the policy closed its end.
    fn write_all(
        &mut self,
        mut rest: &[u8],
        hard_ms: f64,
        wait: &mut Wait,
        events: &mut dyn WaitEvents,
    ) -> Result<bool, LinkError> {
        let mut checked = wait.began;
        while !rest.is_empty() {
            match self.to.write(rest) {
                Ok(n) => rest = &rest[n..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    // A policy that reads an occasional page is waited for all the same.
                    if !is_ready(&self.to, PollFlags::OUT, TICK) || checked.elapsed() >= TICK {
                        checked = Instant::now();
                        self.check_budget(wait, hard_ms, events)?;
                    }
                }
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Waits for the frame `kind` with `length` bytes of payload, left in `buffer`. Returns the CPU time that the
    /// policy used since its last answer.
    fn receive(
        &mut self,
        kind: FrameKind,
        seq: u32,
        length: usize,
        hard_ms: f64,
        events: &mut dyn WaitEvents,
    ) -> Result<Duration, LinkError> {
        let mut wait = Wait::begin();
        let began = wait.began;
        let header = self.read_frame(length, hard_ms, &mut wait, events);
        wait.end(events)?;
        let header = header?;
        if header.kind == FrameKind::Error && header.nonce == self.nonce {
            return Err(self.policy_fault().into());
        }
        let actions = header.actions;
        let length_sent = u32::try_from(length).unwrap_or(u32::MAX);
        if header != (Header { kind, seq, actions, length: length_sent, nonce: self.nonce }) {
            return Err(broken(&format!("expected {kind:?} {seq} with {length} bytes, got {header:?}")).into());
        }
        self.longest_answer = self.longest_answer.max(actions);
        let now = self.cpu();
        let used = now.map_or(began.elapsed(), |now| now.saturating_sub(self.cpu_at_answer));
        self.cpu_at_answer = now.unwrap_or_default();
        if self.clock.is_some() && used.as_secs_f64() * 1e3 > hard_ms {
            return Err(self.over_budget(hard_ms).into());
        }
        Ok(used)
    }

    /// Reads a frame into `buffer`; one with `length` bytes of payload takes a single read.
    fn read_frame(
        &mut self,
        length: usize,
        hard_ms: f64,
        wait: &mut Wait,
        events: &mut dyn WaitEvents,
    ) -> Result<Header, LinkError> {
        let mut checked = wait.began;
        self.buffer.clear();
        let mut wanted = HEADER_BYTES + length;
        loop {
            if self.buffer.len() >= HEADER_BYTES {
                let header = self.header()?;
                wanted = HEADER_BYTES + header.length as usize;
                if self.buffer.len() >= wanted {
                    self.buffer.truncate(wanted);
                    return Ok(header);
                }
            }
            // A policy that sends an occasional byte has not answered yet.
            if !self.read_more(wanted)? || checked.elapsed() >= TICK {
                checked = Instant::now();
                self.check_budget(wait, hard_ms, events)?;
            }
        }
    }

    fn header(&self) -> Result<Header, PolicyTermination> {
        let mut bytes = [0; HEADER_BYTES];
        bytes.copy_from_slice(&self.buffer[..HEADER_BYTES]);
        Header::decode(&bytes, MAX_REPLY_BYTES).map_err(|e| broken(&e.to_string()))
    }

    /// Reads up to `wanted` bytes; returns false if nothing arrived within a tick. Reading no more than the expected
    /// frame leaves early data for the next read, which refuses it.
    fn read_more(&mut self, wanted: usize) -> Result<bool, PolicyTermination> {
        if !is_ready(&self.from, PollFlags::IN, TICK) {
            return Ok(false);
        }
        let filled = self.buffer.len();
        self.buffer.resize(wanted, 0);
        let result = self.from.read(&mut self.buffer[filled..]);
        let got = result.as_ref().map_or(0, |n| *n);
        self.buffer.truncate(filled + got);
        match result {
            Ok(0) => Err(gone()),
            Ok(_) => Ok(true),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(true),
            Err(_) => Err(gone()),
        }
    }

    /// Ends the wait for a policy that has used up its CPU time, or for a relay that is broken. A policy that uses no
    /// CPU time is given more time: the worker detects whether it sleeps or is starved of CPU, and ends its process.
    fn check_budget(&self, wait: &mut Wait, hard_ms: f64, events: &mut dyn WaitEvents) -> Result<(), LinkError> {
        match self.cpu() {
            Some(now) if now.saturating_sub(self.cpu_at_answer).as_secs_f64() * 1e3 > hard_ms => {
                Err(self.over_budget(hard_ms).into())
            }
            _ if self.clock.is_none() && self.environment.is_none() && wait.began.elapsed() > RELAY_WATCHDOG => {
                let message = format!("the policy gave no answer for {} s", RELAY_WATCHDOG.as_secs());
                Err(termination(PolicyErrorCode::Timeout, &message, "").into())
            }
            _ => wait.check_in(events),
        }
    }

    fn over_budget(&self, hard_ms: f64) -> PolicyTermination {
        let which = if self.seq == 0 { "the first call".to_owned() } else { format!("step {}", self.seq) };
        let message = format!("{which} took more than {hard_ms} ms of CPU time, the scenario's hard limit");
        termination(PolicyErrorCode::Timeout, &message, "")
    }

    fn cpu(&self) -> Option<Duration> {
        self.clock.and_then(CpuClock::read)
    }

    /// Reads the ERROR frame of a policy that closed its stream, if it sent one.
    fn final_error(&mut self, events: &mut dyn WaitEvents) -> LinkError {
        match self.receive(FrameKind::Error, self.seq, 0, self.budget.hard_cpu_ms, events) {
            Err(error) => error,
            Ok(_) => gone().into(),
        }
    }

    fn policy_fault(&self) -> PolicyTermination {
        let payload = &self.buffer[HEADER_BYTES..];
        if self.clock.is_some() {
            return PolicyFault::of_runner(payload).map_or_else(
                || broken("an error frame that is not the runner's"),
                |fault| termination(fault.code, &fault.message, &fault.traceback),
            );
        }
        // Without a process, the message comes from the relay, which enforces the deadlines of its policy server.
        match serde_json::from_slice::<PolicyFault>(payload) {
            Ok(PolicyFault { code: PolicyErrorCode::Other(_), .. }) => broken("an error frame with an unknown code"),
            Ok(fault) => termination(fault.code, &fault.message, &fault.traceback),
            Err(_) => broken("an error frame that is not JSON"),
        }
    }
}

/// Waits until `file` can be read or written, or its other end is closed; returns false after `limit`.
fn is_ready(file: &File, events: PollFlags, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).ok();
    // A wait that is interrupted by a signal counts as a tick.
    poll(&mut [PollFd::new(file, events)], limit.as_ref()).is_ok_and(|ready| ready > 0)
}

fn termination(code: PolicyErrorCode, message: &str, log: &str) -> PolicyTermination {
    let end = if code.is_timeout() { PolicyTermination::Timeout } else { PolicyTermination::Error };
    end(EpisodeError { code, message: sanitise(message, MAX_ERROR_BYTES), log_tail: sanitise(log, MAX_ERROR_BYTES) })
}

fn gone() -> PolicyTermination {
    termination(PolicyErrorCode::Exited, "the policy's process ended in the middle of the episode", "")
}

fn broken(what: &str) -> PolicyTermination {
    let message = format!("the policy's process sent an invalid answer: {what}");
    termination(PolicyErrorCode::Protocol, &message, "")
}
