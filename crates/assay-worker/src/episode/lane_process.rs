//! One lane: a simulator in its jail and the control socket to it.

use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_jail::{Activity, Bind, Child, ExitReason, JailSpec, Profile, WorkLimit, WorkWatch, give_to_jail};
use assay_model::lane::{DISK_FULL_STATUS, Done, LaneCommand, LaneScenario, MAX_MESSAGE_BYTES, Reply, RunEpisode};
use assay_scenario::Scenario;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::engine::Staged;
use crate::episode::lane::{Course, IgnoredEvents, Lane, LaneError, LaneEvents, TICK};
use crate::{Cancel, Engine};

/// Minimum interval between two checks of a policy: the kernel treats a timeout of 0 as no timeout.
const LEAST_TICK: Duration = Duration::from_millis(1);
/// Limits after which a lane that compiles a scenario or sends nothing is killed.
const SILENCE: WorkLimit = WorkLimit::new(Duration::from_secs(60), Duration::from_secs(120));
/// Time for a killed lane to exit.
const EXIT_LIMIT: Duration = Duration::from_secs(2);
/// Maximum length of the lane's log in an error, in bytes.
const LOG_BYTES: usize = 2000;

/// A running lane.
#[derive(Debug)]
pub(crate) struct LaneProcess {
    child: Child,
    control: UnixStream,
    scratch: Arc<TempDir>,
    /// The scenario as this process read it.
    scenario: LaneScenario,
    /// The files that the lane reads, which are not removed before it ends.
    _staged: Staged,
    /// True once the lane has compiled its scenario.
    ready: bool,
    /// True if the lane was given a Landlock ruleset to apply to itself.
    has_landlock: bool,
    /// Limits of the caller, after which it is given up if it sends nothing.
    patience: Option<WorkLimit>,
    /// True once the current trial run was concluded.
    concluded: bool,
}

impl LaneProcess {
    /// Starts a lane for `scenario`, whose files are in `staged`, on processor `core`; it compiles the scenario in the
    /// background. The calling thread must outlive the lane.
    pub(crate) fn start(engine: &Engine, scenario: &Scenario, staged: &Staged, core: usize) -> Result<Self, LaneError> {
        let scratch = Arc::new(engine.scratch("lane")?);
        give_to_jail(scratch.path())?;
        let (control, lane_end) = UnixStream::pair()?;
        let mut spec = engine.lane_spec(stepping(scenario), "step", staged, scratch.path());
        spec.stdin = Some(OwnedFd::from(lane_end));
        spec.core = Some(core);
        let child = engine.jail().spawn(spec)?;
        Ok(Self {
            child,
            control,
            scratch,
            scenario: scenario.for_lanes(),
            _staged: staged.clone(),
            ready: false,
            has_landlock: engine.jail().has_landlock(),
            patience: None,
            concluded: false,
        })
    }

    /// Sets limits after which the work is given up if it sends nothing.
    pub(crate) fn with_patience(self, patience: WorkLimit) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// Returns the CPU time that it has used since its start.
    pub(crate) fn cpu_time(&self) -> Duration {
        self.child.cpu_time().unwrap_or_default()
    }

    /// Waits until the scenario is compiled.
    fn ready(&mut self, cancel: &Cancel) -> Result<(), LaneError> {
        if self.ready {
            return Ok(());
        }
        match self.receive(0, cancel, &mut IgnoredEvents)? {
            Reply::Sealed { landlock } if landlock || !self.has_landlock => {}
            Reply::Sealed { .. } => {
                return Err(LaneError::Failed("it did not seal itself with Landlock".to_owned()));
            }
            other => return Err(LaneError::Failed(format!("unexpected answer {other:?}"))),
        }
        match self.receive(0, cancel, &mut IgnoredEvents)? {
            // Another scenario would be judged under this one's digest.
            Reply::Ready { scenario, .. } => match self.scenario.difference(&scenario) {
                Some(difference) => return Err(LaneError::OtherScenario(difference)),
                None => self.ready = true,
            },
            Reply::Refused { message } => return Err(LaneError::Refused(message)),
            other => return Err(LaneError::Failed(format!("unexpected answer {other:?}"))),
        }
        Ok(())
    }

    /// Sends a command, with descriptors attached if there are any.
    fn send(&self, command: &LaneCommand, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let body = serde_json::to_vec(command)?;
        let mut message = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes().to_vec();
        message.extend_from_slice(&body);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        // A command is far smaller than a socket's buffer, so it is sent in one piece.
        let sent = sendmsg(&self.control, &[IoSlice::new(&message)], &mut ancillary, SendFlags::NOSIGNAL)?;
        if sent == message.len() { Ok(()) } else { Err(io::Error::other("a command was sent only in part")) }
    }

    fn receive(&mut self, step: u32, cancel: &Cancel, events: &mut dyn LaneEvents) -> Result<Reply, LaneError> {
        let mut silence = WorkWatch::of(self.patience.unwrap_or(SILENCE), &self.child)?;
        let mut length = [0; 4];
        self.fill(&mut length, (&mut silence, step), cancel, events)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_MESSAGE_BYTES {
            return Err(LaneError::Failed("its answer is longer than allowed".to_owned()));
        }
        let mut body = vec![0; length as usize];
        self.fill(&mut body, (&mut silence, step), cancel, events)?;
        serde_json::from_slice(&body).map_err(LaneError::Answer)
    }

    fn fill(
        &mut self,
        mut slot: &mut [u8],
        (silence, step): (&mut WorkWatch, u32),
        cancel: &Cancel,
        events: &mut dyn LaneEvents,
    ) -> Result<(), LaneError> {
        while !slot.is_empty() {
            if cancel.is_cancelled() {
                return Err(LaneError::Cancelled);
            }
            let tick = events.tick(&|| self.child.activity());
            match events.course(self.cpu_time()) {
                Course::Continue => {}
                Course::Conclude => self.conclude(step)?,
                Course::Abort(end) => return Err(LaneError::OverLimit(end)),
            }
            self.control.set_read_timeout(Some(tick.clamp(LEAST_TICK, TICK)))?;
            match self.control.read(slot) {
                Ok(0) => return Err(self.died(step)),
                Ok(n) => slot = &mut slot[n..],
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    match (silence.check(&self.child), self.patience) {
                        (None, _) => {}
                        (Some(end), Some(_)) => return Err(LaneError::OverLimit(end)),
                        (Some(_), None) => return Err(self.died(step)),
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.died(step)),
            }
        }
        Ok(())
    }

    fn conclude(&mut self, step: u32) -> Result<(), LaneError> {
        if !std::mem::replace(&mut self.concluded, true) {
            self.send(&LaneCommand::Conclude, &[]).map_err(|_| self.died(step))?;
        }
        Ok(())
    }

    fn died(&mut self, step: u32) -> LaneError {
        // A lane that was stopped or frozen by another process is treated like one that was killed by another process.
        let stopped = self.child.activity() == Some(Activity::Stopped);
        let exit = self.child.wait_deadline(EXIT_LIMIT).unwrap_or_else(|| self.child.kill());
        let log = String::from_utf8_lossy(&self.child.output_tail()).into_owned();
        let killed = exit.reason == ExitReason::Signalled && exit.signal == Some(Signal::KILL.as_raw());
        let by_others = stopped || killed;
        if exit.reason == ExitReason::Exited && exit.code == Some(DISK_FULL_STATUS.into()) {
            return LaneError::DiskFull(assay_model::sanitise(&log, LOG_BYTES));
        }
        LaneError::Died { exit: exit.to_string(), by_others, step, log: assay_model::sanitise(&log, LOG_BYTES) }
    }
}

impl Lane for LaneProcess {
    fn run(
        &mut self,
        run: RunEpisode,
        policy: [BorrowedFd<'_>; 2],
        cancel: &Cancel,
        events: &mut dyn LaneEvents,
    ) -> Result<Done, LaneError> {
        self.ready(cancel)?;
        self.send(&LaneCommand::Run(run), &policy).map_err(|_| self.died(0))?;
        self.concluded = false;
        let mut last_step = 0;
        loop {
            match self.receive(last_step, cancel, events)? {
                Reply::Progress { step, of, .. } => {
                    last_step = step;
                    events.progress(step, of);
                }
                Reply::Waiting => events.waiting(),
                Reply::Answered => events.answered(),
                Reply::Violated(violation) => {
                    events.violated(violation)?;
                    self.send(&LaneCommand::Noted, &[]).map_err(|_| self.died(last_step))?;
                }
                Reply::Done(done) => return Ok(*done),
                Reply::Refused { message } => return Err(LaneError::Failed(message)),
                Reply::Ready { .. } | Reply::Sealed { .. } => {
                    return Err(LaneError::Failed("it reported twice that it is ready".to_owned()));
                }
            }
        }
    }

    fn scratch(&self) -> Arc<TempDir> {
        Arc::clone(&self.scratch)
    }
}

/// Returns a duration in nanoseconds, as a lane expects it.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the jail's profile for stepping this scenario: a policy's cameras are rendered while stepping.
pub(crate) fn stepping(scenario: &Scenario) -> Profile {
    if scenario.has_images() { Profile::StepWithCameras } else { Profile::Step }
}

/// Returns the binds of every lane, in addition to its program.
pub(crate) fn places(staged: &Staged, scratch: &Path) -> [Bind; 3] {
    [
        Bind::read_only(&*staged.scenario, "/scenario"),
        Bind::read_only(&*staged.robots, "/robots"),
        Bind::writable(scratch, "/scratch"),
    ]
}

/// Returns a lane's arguments in mode `mode`, for [`places`].
pub(crate) fn arguments(program: &Path, mode: &str) -> [String; 5] {
    [program.display().to_string(), mode.into(), "/scenario".into(), "/robots".into(), "/scratch".into()]
}

impl Engine {
    /// Returns the jail of a lane program in mode `mode` (`step` or `render`).
    pub(crate) fn lane_spec(&self, profile: Profile, mode: &str, staged: &Staged, scratch: &Path) -> JailSpec {
        let program = self.lane_program();
        let mut spec = JailSpec::new(profile, arguments(&program.path, mode));
        spec.seals_itself = true;
        spec.binds.extend(program.binds.iter().cloned());
        spec.binds.extend(places(staged, scratch));
        spec.env.extend(program.env.iter().cloned());
        // Selects the same libm code paths on every processor, and keeps Mesa from leaving one job's cache to another.
        spec.env.push(("GLIBC_TUNABLES".into(), "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4".into()));
        spec.env.push(("MESA_SHADER_CACHE_DISABLE".into(), "true".into()));
        if profile == Profile::StepWithCameras {
            // A stepping lane has one processor, so additional rasteriser threads would only wait for each other.
            spec.env.push(("LP_NUM_THREADS".into(), "0".into()));
        }
        spec
    }
}
