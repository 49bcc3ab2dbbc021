//! The second judge's opinions on the episodes of a verification.

use assay_judge::Judge;
use assay_model::lane::files;
use assay_model::{EpisodeResult, worth_judging};
use assay_worker::{Cancel, Engine, Job, Judging};

/// Asks the judge about the episodes that are worth judging, and adds its opinions to their results.
pub(super) fn judge_episodes(
    engine: &Engine,
    judge: &Judge,
    job: &Job,
    episodes: &mut [EpisodeResult],
    cancel: &Cancel,
) {
    let Some(folder) = &job.folder else { return };
    let mut judging = Judging::new(engine, judge, &job.scenario, job.seeds.clone());
    for index in worth_judging(episodes, usize::from(judge.options().episodes)) {
        let episode = &mut episodes[index];
        let Some(trace) = episode.evidence.iter().find(|file| file.name.ends_with(files::TRACE)) else { continue };
        let trace = folder.join(&trace.name);
        let place = trace.parent().unwrap_or(folder).to_owned();
        let (judgement, frames) = judging.judge(episode, &trace, &place, cancel);
        episode.add_judgement(judgement, frames);
    }
}
