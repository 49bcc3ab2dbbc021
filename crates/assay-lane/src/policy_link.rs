//! The lane's end of a policy's stream: sends observations, waits for actions within the budget, and turns whatever
//! else comes back into a result.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use assay_model::frame::{self, HEADER_BYTES, Header, Init, Kind, MAX_REPLY_BYTES, PolicyFault};
use assay_model::lane::WATCHDOG;
use assay_model::{EpisodeError, sanitise};
use assay_scenario::Budget;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::cpu_clock::CpuClock;

/// How often a waiting lane looks at the policy's clock.
const TICK: Duration = Duration::from_millis(20);
/// A relay that answers nothing for this long is broken. Longer than any deadline that it keeps with its policy server, so
/// that it is the one to say what happened.
const RELAY_WATCHDOG: Duration = Duration::from_secs(30);
/// Longest message and traceback kept of a policy's error, in bytes.
const MAX_ERROR_BYTES: usize = 4096;

/// How a policy ends an episode early.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It crashed or sent what is no action.
    Error(EpisodeError),
    /// It used up its CPU time.
    Timeout(EpisodeError),
    /// It said nothing until the watchdog, using little CPU: asleep, or kept from the processor.
    Stalled(EpisodeError),
}

/// A connected policy.
#[derive(Debug)]
pub(crate) struct PolicyLink {
    to: File,
    from: File,
    nonce: u64,
    clock: Option<CpuClock>,
    budget: Budget,
    seq: u32,
    /// CPU time at the last answer: what came between two calls counts too.
    cpu_at_answer: Duration,
    cpu_at_start: Duration,
    buffer: Vec<u8>,
    misses: u32,
}

/// An answered observation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    /// By the wall, from sending to the whole action.
    pub(crate) latency: Duration,
    /// CPU time of the policy's process since its last answer; `None` for a policy server.
    pub(crate) cpu: Option<Duration>,
}

impl PolicyLink {
    /// Over the descriptors that are written to and read from.
    pub(crate) fn new(
        (to, from): (OwnedFd, OwnedFd),
        nonce: u64,
        pid: Option<i32>,
        budget: Budget,
    ) -> io::Result<Self> {
        // A policy that does not read must not hold the lane.
        fcntl_setfl(&to, fcntl_getfl(&to)? | OFlags::NONBLOCK)?;
        let (to, from) = (File::from(to), File::from(from));
        let clock = pid.map(CpuClock::of);
        let cpu_at_answer = clock.and_then(CpuClock::read).unwrap_or_default();
        let cpu_at_start = cpu_at_answer;
        Ok(Self { to, from, nonce, clock, budget, seq: 0, cpu_at_answer, cpu_at_start, buffer: Vec::new(), misses: 0 })
    }

    /// Control steps over the budget so far.
    pub(crate) fn misses(&self) -> u32 {
        self.misses
    }

    /// CPU time of the policy's process since the link was made, as far as it can be seen.
    pub(crate) fn cpu_used(&self) -> Duration {
        self.cpu().unwrap_or(self.cpu_at_answer).saturating_sub(self.cpu_at_start)
    }

    /// Announces the episode and waits until the policy is reset.
    pub(crate) fn start(&mut self, init: &Init) -> Result<(), Fault> {
        let payload = serde_json::to_vec(init).map_err(|e| broken(&e.to_string()))?;
        self.send(Kind::Init, 0, &payload)?;
        self.receive(Kind::Ready, 0, 0, self.budget.first_cpu_ms)?;
        Ok(())
    }

    /// Sends an observation (raw bytes, time and time remaining first) and reads the action into `action`.
    pub(crate) fn ask(&mut self, observation: &[u8], action: &mut [f64]) -> Result<Answered, Fault> {
        let began = Instant::now();
        let seq = self.seq;
        let (soft_ms, hard_ms) = if seq == 0 {
            (self.budget.first_cpu_ms, self.budget.first_cpu_ms)
        } else {
            (self.budget.step_cpu_ms, self.budget.hard_cpu_ms)
        };
        self.send(Kind::Observation, seq, observation)?;
        let used = self.receive(Kind::Action, seq, action.len() * 8, hard_ms)?;
        let latency = began.elapsed();
        // A server's latency is reported, not judged: it depends on the network, and on this machine's load.
        self.misses += u32::from(self.clock.is_some() && used.as_secs_f64() * 1e3 > soft_ms);
        self.seq += 1;
        for (slot, bytes) in action.iter_mut().zip(self.buffer[HEADER_BYTES..].chunks_exact(8)) {
            *slot = f64::from_le_bytes(bytes.try_into().unwrap_or([0xff; 8]));
        }
        if let Some(index) = action.iter().position(|x| !x.is_finite()) {
            let message = format!("action[{index}] is {}: every number of an action must be finite", action[index]);
            return Err(Fault::Error(error("bad_action", &message, "")));
        }
        Ok(Answered { latency, cpu: self.clock.map(|_| used) })
    }

    /// Tells the policy that the episode is over; it may be gone already.
    pub(crate) fn close(mut self) {
        let _ = self.send(Kind::Close, self.seq, &[]);
    }

    fn send(&mut self, kind: Kind, seq: u32, payload: &[u8]) -> Result<(), Fault> {
        let bytes = frame::frame(kind, seq, self.nonce, payload);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match self.to.write(rest) {
                Ok(n) => rest = &rest[n..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if !is_ready(&self.to, PollFlags::OUT, WATCHDOG) {
                        return Err(Fault::Stalled(error("timeout", "the policy did not read its observation", "")));
                    }
                }
                // It may have said why before it went.
                Err(_) => return Err(self.last_words()),
            }
        }
        Ok(())
    }

    /// Waits for the frame `kind` with `length` bytes of payload, left in `buffer`. Returns the CPU time that the
    /// policy used since its last answer.
    fn receive(&mut self, kind: Kind, seq: u32, length: usize, hard_ms: f64) -> Result<Duration, Fault> {
        let began = Instant::now();
        self.buffer.clear();
        // One read takes the whole of the frame that is expected.
        let mut wanted = HEADER_BYTES + length;
        let header = loop {
            if self.buffer.len() >= HEADER_BYTES {
                let header = self.header()?;
                wanted = HEADER_BYTES + header.length as usize;
                if self.buffer.len() >= wanted {
                    self.buffer.truncate(wanted);
                    break header;
                }
            }
            if !self.read_more(wanted)? {
                self.check_budget(began, hard_ms)?;
            }
        };
        if header.kind == Kind::Error && header.nonce == self.nonce {
            return Err(self.policy_fault());
        }
        if header != (Header { kind, seq, length: u32::try_from(length).unwrap_or(u32::MAX), nonce: self.nonce }) {
            return Err(broken(&format!("expected {kind:?} {seq} with {length} bytes, got {header:?}")));
        }
        let now = self.cpu();
        let used = now.map_or(began.elapsed(), |now| now.saturating_sub(self.cpu_at_answer));
        self.cpu_at_answer = now.unwrap_or_default();
        if self.clock.is_some() && used.as_secs_f64() * 1e3 > hard_ms {
            return Err(self.over_budget(hard_ms));
        }
        Ok(used)
    }

    fn header(&self) -> Result<Header, Fault> {
        let mut bytes = [0; HEADER_BYTES];
        bytes.copy_from_slice(&self.buffer[..HEADER_BYTES]);
        Header::decode(&bytes, MAX_REPLY_BYTES).map_err(|e| broken(&e.to_string()))
    }

    /// Reads towards `wanted` bytes; `false` when nothing came within a tick. Reading no more than the expected frame
    /// leaves whatever was sent too early to be found (and refused) by the next read.
    fn read_more(&mut self, wanted: usize) -> Result<bool, Fault> {
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

    fn check_budget(&self, began: Instant, hard_ms: f64) -> Result<(), Fault> {
        match self.cpu() {
            Some(now) if now.saturating_sub(self.cpu_at_answer).as_secs_f64() * 1e3 > hard_ms => {
                Err(self.over_budget(hard_ms))
            }
            _ if began.elapsed() > self.watchdog() => {
                let message = format!("the policy gave no answer for {} s", self.watchdog().as_secs());
                Err(Fault::Stalled(error("timeout", &message, "")))
            }
            _ => Ok(()),
        }
    }

    fn watchdog(&self) -> Duration {
        if self.clock.is_some() { WATCHDOG } else { RELAY_WATCHDOG }
    }

    fn over_budget(&self, hard_ms: f64) -> Fault {
        let which = if self.seq == 0 { "the first call".to_owned() } else { format!("step {}", self.seq) };
        let message = format!("{which} took more than {hard_ms} ms of CPU time, the scenario's hard limit");
        Fault::Timeout(error("timeout", &message, ""))
    }

    fn cpu(&self) -> Option<Duration> {
        self.clock.and_then(CpuClock::read)
    }

    /// Looks for an ERROR frame of a policy that hung up.
    fn last_words(&mut self) -> Fault {
        match self.receive(Kind::Error, self.seq, 0, self.budget.hard_cpu_ms) {
            Err(fault) => fault,
            Ok(_) => gone(),
        }
    }

    fn policy_fault(&self) -> Fault {
        match serde_json::from_slice::<PolicyFault>(&self.buffer[HEADER_BYTES..]) {
            // Without a process it is our relay that speaks: it keeps the deadlines of its policy server.
            Ok(fault) if self.clock.is_none() && fault.code == "timeout" => {
                Fault::Timeout(error("timeout", &fault.message, &fault.traceback))
            }
            Ok(fault) => Fault::Error(error(&sanitise(&fault.code, 32), &fault.message, &fault.traceback)),
            Err(_) => broken("an error frame that is no JSON"),
        }
    }
}

/// Waits until `file` can be read or written, or its other end is gone; false after `limit`.
fn is_ready(file: &File, events: PollFlags, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).ok();
    // A signal is as good as a tick.
    poll(&mut [PollFd::new(file, events)], limit.as_ref()).is_ok_and(|ready| ready > 0)
}

fn error(code: &str, message: &str, log: &str) -> EpisodeError {
    EpisodeError {
        code: code.to_owned(),
        message: sanitise(message, MAX_ERROR_BYTES),
        log_tail: sanitise(log, MAX_ERROR_BYTES),
    }
}

fn gone() -> Fault {
    Fault::Error(error("exited", "the policy's process ended in the middle of the episode", ""))
}

fn broken(what: &str) -> Fault {
    Fault::Error(error("protocol", &format!("the policy's process sent something that is no answer: {what}"), ""))
}
