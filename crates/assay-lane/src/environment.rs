//! The process of a Python environment: the same episodes as in [`step`](crate::step()), but each observation carries
//! feedback, and the counterpart may take any time to answer.

use std::io;
use std::os::unix::net::UnixStream;

use assay_model::Violation;
use assay_model::lane::{LaneCommand, Reply, RunEpisode};
use assay_sim::{CompiledScenario, Quality};

use crate::Places;
use crate::control_socket::ControlSocket;
use crate::episode;
use crate::episode_events::EpisodeEvents;
use crate::feedback::{PICTURE_HEIGHT, PICTURE_WIDTH};
use crate::load::load_to_draw;
use crate::meter::{Meter, Part};
use crate::policy_link::{PolicyLink, WaitEvents};
use crate::rollout::Rollout;
use crate::step_error::StepError;

/// Serves an environment on descriptor 0 until it closes the connection; adds a picture to each observation if
/// requested. Nothing is reported during an episode, because the environment reads the connection only afterwards.
///
/// # Errors
/// [`StepError`] if the lane fails.
pub fn environment(places: &Places, sealed: bool, with_pictures: bool) -> Result<(), StepError> {
    let descriptor = rustix::io::dup(rustix::stdio::stdin()).map_err(io::Error::from)?;
    let mut control = ControlSocket::new(UnixStream::from(descriptor));
    control.send(&Reply::Sealed { landlock: sealed })?;
    let world = match load_to_draw(places, (PICTURE_WIDTH, PICTURE_HEIGHT), Quality::Frame) {
        Ok(world) => world,
        Err(error) => {
            control.send(&Reply::Refused { message: error.to_string() })?;
            return Ok(());
        }
    };
    let scenario = world.scenario().for_lanes();
    control.send(&Reply::Ready { mujoco: assay_sim::mujoco_version(), scenario })?;
    while let Some((LaneCommand::Run(run), descriptors)) = control.receive()? {
        let [to, from] = descriptors.ok_or(StepError::Command("it has no policy stream"))?;
        let link = PolicyLink::new((to, from), &run, world.scenario().budget)?;
        let mut link = link.of_environment(with_pictures);
        let rollout = roll_out(&world, &run, &mut link)?;
        control.send(&Reply::Done(Box::new(rollout.done)))?;
        link.close();
    }
    Ok(())
}

fn roll_out(world: &CompiledScenario, run: &RunEpisode, link: &mut PolicyLink) -> Result<Rollout, StepError> {
    let mut meter = Meter::start();
    let simulation = world.simulation(run.seeds.world)?;
    meter.lap(Part::World);
    episode::run(world, simulation, (run, None), link, meter, &mut Unreported)
}

/// Ignores the events of an episode: their facts are in the feedback and in the result.
struct Unreported;

impl WaitEvents for Unreported {
    fn waiting(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn answered(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl EpisodeEvents for Unreported {
    fn progress(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn violated(&mut self, _: Violation) -> io::Result<()> {
        Ok(())
    }
}
