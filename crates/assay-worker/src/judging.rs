//! The second judge's review of an episode: renders frames from its recording, and asks a question about them.

use std::fs;
use std::path::Path;

use assay_jail::{SpawnError, give_to_jail};
use assay_judge::{Judge, JudgeFrame, Question, Rule};
use assay_model::lane::{StillsJob, files};
use assay_model::{Artifact, EpisodeResult, ErrorChain, Judgement, SeedSource, moments};
use assay_scenario::Scenario;

use crate::episode::evidence;
use crate::rendering::video;
use crate::{Cancel, Engine};

/// Width and height of a frame in pixels.
const SIZE: (u32, u32) = (512, 384);
/// Maximum size of a frame, in bytes.
const MAX_FRAME_BYTES: u64 = 4 * 1024 * 1024;

/// An internal error that prevented the judge's review. The verdict stands without it.
#[derive(Debug, thiserror::Error)]
enum FramesError {
    #[error("could not read or write the files of the frames")]
    Io(#[from] std::io::Error),
    #[error("could not encode the request for frames")]
    Json(#[from] serde_json::Error),
    #[error("could not start a jail")]
    Spawn(#[from] SpawnError),
    #[error(transparent)]
    Stage(#[from] assay_jail::StageError),
    #[error(transparent)]
    Draw(#[from] video::RendererError),
}

/// A judge that reviews the episodes of one job.
#[derive(Debug)]
pub struct Judging<'a> {
    engine: &'a Engine,
    judge: &'a Judge,
    scenario: &'a Scenario,
    seeds: SeedSource,
    /// Number of tokens that the job may still use.
    tokens: u64,
}

impl<'a> Judging<'a> {
    /// Creates a judge for a job on `scenario` with `seeds`.
    #[must_use]
    pub fn new(engine: &'a Engine, judge: &'a Judge, scenario: &'a Scenario, seeds: SeedSource) -> Self {
        Self { engine, judge, scenario, seeds, tokens: judge.options().tokens }
    }

    /// Counts an earlier judgement of the same job, so that a second attempt stays within the job's tokens.
    pub fn already(&mut self, judgement: &Judgement) {
        self.tokens = self.tokens.saturating_sub(judgement.tokens);
    }

    /// Asks the judge about `episode`, whose recording is the file `trace`. The frames shown are written to `folder`
    /// and added to the episode's evidence.
    pub fn judge(
        &mut self,
        episode: &EpisodeResult,
        trace: &Path,
        folder: &Path,
        cancel: &Cancel,
    ) -> (Judgement, Vec<Artifact>) {
        let times_s = moments(episode, usize::from(self.judge.options().frames));
        let model = self.judge.options().model.clone();
        let mut judgement = Judgement { model, frames_s: times_s, opinion: None, agrees: None, error: None, tokens: 0 };
        let (frames, artifacts) = match self.frames(episode, &judgement.frames_s, trace, folder, cancel) {
            Ok(drawn) => drawn,
            Err(error) => {
                // The details are for the operator only, since they may describe this machine.
                tracing::warn!(
                    episode = episode.episode,
                    "could not render frames for the judge: {}",
                    ErrorChain(&error)
                );
                judgement.error = Some("the frames could not be rendered".to_owned());
                return (judgement, Vec::new());
            }
        };
        let question = question(self.scenario, frames);
        let answered = self.judge.ask(&question, self.tokens, &|| !cancel.is_cancelled());
        self.tokens = self.tokens.saturating_sub(answered.tokens);
        judgement.tokens = answered.tokens;
        match answered.opinion {
            Ok(opinion) => {
                judgement.agrees = Some(opinion.agrees_with(episode));
                judgement.opinion = Some(opinion);
            }
            Err(reason) => judgement.error = Some(reason),
        }
        (judgement, artifacts)
    }

    fn frames(
        &self,
        episode: &EpisodeResult,
        times_s: &[f64],
        trace: &Path,
        folder: &Path,
        cancel: &Cancel,
    ) -> Result<(Vec<JudgeFrame>, Vec<Artifact>), FramesError> {
        let scratch = self.engine.scratch("stills")?;
        let inside = scratch.path();
        fs::copy(trace, inside.join(files::TRACE))?;
        let world_seed = self.seeds.episode(episode.episode).world;
        let job = StillsJob { world_seed, times_s: times_s.to_vec(), width: SIZE.0, height: SIZE.1 };
        fs::write(inside.join(files::STILLS_JOB), serde_json::to_vec(&job)?)?;
        give_to_jail(inside)?;
        let staged = self.engine.staged(self.scenario)?;
        video::finish(self.engine, "stills", &staged, inside, cancel)?;
        let (mut frames, mut artifacts) = (Vec::new(), Vec::new());
        for (index, time_s) in times_s.iter().enumerate() {
            let mut artifact = evidence::take(inside, ".", &files::still(index), folder)?;
            let png = evidence::read(folder, &artifact.name, MAX_FRAME_BYTES)?;
            artifact.name = format!("{}/{}", evidence::folder_of(episode.episode), artifact.name);
            artifacts.push(artifact);
            frames.push(JudgeFrame { time_s: *time_s, png });
        }
        Ok((frames, artifacts))
    }
}

fn question(scenario: &Scenario, frames: Vec<JudgeFrame>) -> Question {
    let task = scenario.instruction.clone().unwrap_or_else(|| scenario.description.clone());
    let rule = |clause: &assay_scenario::Clause| Rule { id: clause.id.clone(), text: clause.title.clone() };
    Question { task, rules: scenario.clauses.iter().map(rule).collect(), frames }
}
