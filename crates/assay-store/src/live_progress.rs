//! Live progress of running episodes, which is not stored.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_model::JobId;

/// Progress of a running episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpisodeProgress {
    /// Index of the episode.
    pub episode: u32,
    /// Control steps done.
    pub step: u32,
    /// Maximum number of control steps.
    pub max_steps: u32,
}

/// A channel by which workers report progress to followers. Nothing depends on it: reports may be lost.
pub trait LiveProgress: Send + Sync + fmt::Debug {
    /// Reports the progress of an episode. Never blocks.
    fn report(&self, job: JobId, progress: EpisodeProgress);

    /// Reports that an episode no longer runs.
    fn end(&self, job: JobId, episode: u32);

    /// Returns the known progress of a job's running episodes.
    fn running(&self, job: JobId) -> Vec<EpisodeProgress>;
}

/// Live progress within a single process.
#[derive(Debug, Default)]
pub struct LocalLiveProgress(Mutex<HashMap<JobId, BTreeMap<u32, EpisodeProgress>>>);

impl LocalLiveProgress {
    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, BTreeMap<u32, EpisodeProgress>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveProgress for LocalLiveProgress {
    fn report(&self, job: JobId, progress: EpisodeProgress) {
        self.lock().entry(job).or_default().insert(progress.episode, progress);
    }

    fn end(&self, job: JobId, episode: u32) {
        let mut jobs = self.lock();
        if let Some(episodes) = jobs.get_mut(&job) {
            episodes.remove(&episode);
            if episodes.is_empty() {
                jobs.remove(&job);
            }
        }
    }

    fn running(&self, job: JobId) -> Vec<EpisodeProgress> {
        self.lock().get(&job).map(|episodes| episodes.values().copied().collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn progress_is_reported_until_the_episode_ends() {
        let (live, job) = (LocalLiveProgress::default(), "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap());
        let step = |episode, step| EpisodeProgress { episode, step, max_steps: 9 };
        for step in [step(1, 1), step(0, 1), step(1, 2)] {
            live.report(job, step);
        }
        assert_eq!(live.running(job), [step(0, 1), step(1, 2)]);
        for episode in [0, 1, 1] {
            live.end(job, episode);
        }
        assert_eq!(live.running(job), []);
        assert!(live.lock().is_empty(), "no entry of the job is left");
    }
}
