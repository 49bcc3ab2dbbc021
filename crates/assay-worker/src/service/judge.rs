//! The second judge's part of a conclusion.

use std::path::Path;

use assay_model::lane::files;
use assay_model::{Artifact, EpisodeResult, ErrorChain, JobId, worth_judging};
use assay_store::{BlobError, ConclusionClaim, StoreError};

use super::shared::WorkerShared;
use crate::{Cancel, Judging};

impl WorkerShared {
    /// Lets the judge, if there is one, review the episodes worth reviewing. Opinions from an earlier try are kept. An
    /// unavailable judge does not delay the verdict.
    pub(super) fn judge(&self, claim: &mut ConclusionClaim, cancel: &Cancel) -> Result<(), StoreError> {
        let Some(judge) = &self.options.judge else { return Ok(()) };
        let engine = &self.options.engine;
        // A job on a scenario that has changed since cannot be rendered any more.
        let Ok(scenario) = engine.scenario(&claim.header.scenario, claim.header.scenario_digest) else {
            return Ok(());
        };
        let Ok(seeds) = self.seeds(&claim.header) else { return Ok(()) };
        let mut judging = Judging::new(engine, judge, &scenario, seeds);
        claim.episodes.iter().filter_map(|episode| episode.judge.as_ref()).for_each(|earlier| judging.already(earlier));
        let counted = claim.header.plan.counted(&claim.episodes);
        for index in worth_judging(counted, usize::from(judge.options().episodes)) {
            let episode = &mut claim.episodes[index];
            if episode.judge.is_some() || cancel.is_cancelled() {
                continue;
            }
            match self.judge_episode(claim.header.job_id, episode, &mut judging, cancel) {
                Ok((judgement, frames)) if !cancel.is_cancelled() => {
                    let write = self.options.records.add_judgement(
                        claim.fence,
                        episode.episode,
                        judgement.clone(),
                        frames.clone(),
                    );
                    if !self.wait(write)? {
                        cancel.cancel();
                        return Ok(());
                    }
                    episode.add_judgement(judgement, frames);
                }
                Ok(_) => return Ok(()),
                Err(error) => {
                    tracing::warn!(job.id = %claim.header.job_id, "could not load the scenario for the judge: {}", ErrorChain(&error));
                }
            }
        }
        Ok(())
    }

    fn judge_episode(
        &self,
        job: JobId,
        episode: &EpisodeResult,
        judging: &mut Judging<'_>,
        cancel: &Cancel,
    ) -> Result<(assay_model::Judgement, Vec<Artifact>), BlobError> {
        let blobs = &self.options.blobs;
        let work = self.options.engine.scratch("judge")?;
        let recording =
            episode.evidence.iter().find(|file| file.name.ends_with(files::TRACE)).ok_or(BlobError::Missing)?;
        let trace = work.path().join(files::TRACE);
        self.wait(blobs.copy_to(job, recording.sha256, &trace))?;
        let (judgement, frames) = judging.judge(episode, &trace, work.path(), cancel);
        for frame in &frames {
            let name = Path::new(&frame.name).file_name().unwrap_or_default();
            self.wait(blobs.put(job, frame.sha256, &work.path().join(name)))?;
        }
        self.wait(blobs.settle(job))?;
        Ok((judgement, frames))
    }
}
