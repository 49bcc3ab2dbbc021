//! Feedback for environments: margins and progress before each observation, and a picture after it, in the same frame.

use assay_scenario::Scenario;
use assay_sim::{Quality, RenderError, Renderer, Simulation};
use assay_stl::Monitor;

use crate::assess::TaskWatch;

/// Width of a picture in pixels.
pub(crate) const PICTURE_WIDTH: u32 = 480;
/// Height of a picture in pixels.
pub(crate) const PICTURE_HEIGHT: u32 = 360;

/// The margins of one clause.
#[derive(Debug)]
struct Margins {
    /// Monitor without samples, from which that of each control step is copied.
    fresh: Monitor,
    /// Monitor of the current control step.
    step: Monitor,
    /// Monitor of the whole episode.
    episode: Monitor,
    step_margin: f64,
    episode_margin: f64,
}

/// The feedback of one episode.
#[derive(Debug)]
pub(crate) struct Feedback {
    margins: Vec<Margins>,
    renderer: Option<Renderer>,
}

impl Feedback {
    /// Starts the feedback of an episode, with pictures if requested.
    ///
    /// # Errors
    /// [`RenderError`] if pictures cannot be rendered on this machine.
    pub(crate) fn start(
        scenario: &Scenario,
        simulation: &mut Simulation,
        with_pictures: bool,
    ) -> Result<Self, RenderError> {
        let margins = scenario.clauses.iter().map(|clause| {
            let fresh = clause.bound.monitor();
            let (step, episode) = (fresh.clone(), fresh.clone());
            Margins { fresh, step, episode, step_margin: f64::INFINITY, episode_margin: f64::INFINITY }
        });
        let renderer = with_pictures
            .then(|| Renderer::new(simulation, (PICTURE_WIDTH, PICTURE_HEIGHT), Quality::Frame))
            .transpose()?;
        Ok(Self { margins: margins.collect(), renderer })
    }

    /// Forgets the samples of the last control step.
    pub(crate) fn begin_step(&mut self) {
        for margins in &mut self.margins {
            margins.step.clone_from(&margins.fresh);
            margins.step_margin = f64::INFINITY;
        }
    }

    /// Takes the sample of a physics step.
    pub(crate) fn push(&mut self, sample: &[f64]) {
        for margins in &mut self.margins {
            margins.step_margin = margins.step.push(sample).upper;
            margins.episode_margin = margins.episode.push(sample).upper;
        }
    }

    /// Appends the numbers that precede an observation: the margin of each clause over the last control step, then
    /// over the episode so far, the share of the stages' points reached (0 to 1), and 1 if success holds.
    pub(crate) fn write_numbers(&self, watch: &TaskWatch, time_s: f64, out: &mut Vec<u8>) {
        let steps = self.margins.iter().map(|margins| margins.step_margin);
        let episode = self.margins.iter().map(|margins| margins.episode_margin);
        let task = [watch.progress(), f64::from(u8::from(watch.succeeded(time_s)))];
        for number in steps.chain(episode).chain(task) {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Appends the picture that follows an observation, if pictures were requested: RGB, rows from the top.
    ///
    /// # Errors
    /// [`RenderError`] if it cannot be rendered.
    pub(crate) fn write_picture(&mut self, simulation: &mut Simulation, out: &mut Vec<u8>) -> Result<(), RenderError> {
        if let Some(renderer) = &mut self.renderer {
            out.extend_from_slice(&renderer.draw(simulation)?);
        }
        Ok(())
    }
}
