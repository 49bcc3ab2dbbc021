//! The stepping process: one scenario, episode after episode, until the worker closes the connection.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_model::Violation;
use assay_model::lane::{LaneCommand, Reply, RunEpisode};
use assay_sim::CompiledScenario;

use crate::Places;
use crate::control_socket::ControlSocket;
use crate::cpu_clock::CpuClock;
use crate::episode;
use crate::episode_events::EpisodeEvents;
use crate::evidence;
use crate::load::load;
use crate::meter::{Meter, Part, ms};
use crate::observation_recorder::ObservationRecorder;
use crate::policy_link::{PolicyLink, WaitEvents};
use crate::rollout::Rollout;
use crate::step_error::StepError;

/// Minimum interval between two progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Serves the worker on descriptor 0 until it quits or closes the connection. First reports whether the process is
/// `sealed`.
///
/// # Errors
/// [`StepError`] if the lane fails.
pub fn step(places: &Places, sealed: bool) -> Result<(), StepError> {
    let mut control = ControlSocket::new(stdin_socket()?);
    control.send(&Reply::Sealed { landlock: sealed })?;
    let world = match load(places) {
        Ok(world) => world,
        Err(error) => {
            control.send(&Reply::Refused { message: error.to_string() })?;
            return Ok(());
        }
    };
    let scenario = world.scenario().for_lanes();
    control.send(&Reply::Ready { mujoco: assay_sim::mujoco_version(), scenario })?;
    while let Some((command, descriptors)) = control.receive()? {
        let run = match command {
            LaneCommand::Run(run) => run,
            // It arrived after the end of its trial run.
            LaneCommand::Conclude => continue,
            LaneCommand::Noted => break,
        };
        let [to, from] = descriptors.ok_or(StepError::Command("it has no policy stream"))?;
        let mut link = PolicyLink::new((to, from), &run, world.scenario().budget)?;
        let mut rollout = roll_out(&world, (&run, &places.scratch), &mut link, &mut control)?;
        if let Some(folder) = &run.evidence {
            let before = CpuClock::own().read().unwrap_or_default();
            evidence::write(&places.scratch, (folder, run.plain), world.scenario(), &rollout)?;
            let after = CpuClock::own().read().unwrap_or_default();
            rollout.done.cost.evidence_cpu_ms = ms(after.saturating_sub(before));
        }
        control.send(&Reply::Done(Box::new(rollout.done)))?;
        // Closed only now, because an exiting policy uses CPU time on the processor that it shares with the lane.
        link.close();
    }
    Ok(())
}

fn stdin_socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(rustix::io::dup(rustix::stdio::stdin())?))
}

fn roll_out(
    world: &CompiledScenario,
    (run, scratch): (&RunEpisode, &Path),
    link: &mut PolicyLink,
    control: &mut ControlSocket,
) -> Result<Rollout, StepError> {
    let mut meter = Meter::start();
    let simulation = world.simulation(run.seeds.world)?;
    let recorder = ObservationRecorder::start(scratch, run, world.scenario(), &simulation)?;
    meter.lap(Part::World);
    let of = world.scenario().control_steps();
    let mut reporter =
        Reporter { control, episode: run.episode, of, last_progress: Instant::now(), is_concluded: false };
    episode::run(world, simulation, (run, recorder), link, meter, &mut reporter)
}

/// Reports an episode to the worker.
struct Reporter<'a> {
    control: &'a mut ControlSocket,
    episode: u32,
    /// Number of control steps of a whole episode.
    of: u32,
    last_progress: Instant,
    /// True once the worker has asked for the end of a trial run.
    is_concluded: bool,
}

impl WaitEvents for Reporter<'_> {
    fn waiting(&mut self) -> io::Result<()> {
        self.control.send(&Reply::Waiting)
    }

    fn answered(&mut self) -> io::Result<()> {
        self.control.send(&Reply::Answered)
    }
}

impl EpisodeEvents for Reporter<'_> {
    fn progress(&mut self, step: u32) -> io::Result<()> {
        if self.last_progress.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        self.last_progress = Instant::now();
        self.control.send(&Reply::Progress { episode: self.episode, step, of: self.of })
    }

    fn violated(&mut self, violation: Violation) -> io::Result<()> {
        self.control.send(&Reply::Violated(violation))?;
        loop {
            match self.control.receive()? {
                Some((LaneCommand::Noted, _)) => return Ok(()),
                Some((LaneCommand::Conclude, _)) => self.is_concluded = true,
                _ => return Err(io::Error::other("the worker did not confirm a violation")),
            }
        }
    }

    fn is_concluded(&mut self) -> io::Result<bool> {
        if !self.is_concluded && self.control.is_readable()? {
            match self.control.receive()? {
                Some((LaneCommand::Conclude, _)) => self.is_concluded = true,
                _ => return Err(io::Error::other("the worker sent an unexpected command during a trial run")),
            }
        }
        Ok(self.is_concluded)
    }
}
