//! What is worth telling while it happens, and not worth keeping.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_model::JobId;

/// How far an episode is that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpisodeProgress {
    /// Its index.
    pub episode: u32,
    /// Control steps done.
    pub step: u32,
    /// The most there will be.
    pub of: u32,
}

/// Where workers say how far they are, for those who follow. Nothing depends on it: what is said may be lost.
pub trait LiveProgress: Send + Sync + fmt::Debug {
    /// An episode is this far. Never waits.
    fn step(&self, job: JobId, step: EpisodeProgress);

    /// An episode runs no more.
    fn ended(&self, job: JobId, episode: u32);

    /// The episodes of a job that run, as far as is known.
    fn steps(&self, job: JobId) -> Vec<EpisodeProgress>;
}

/// Workers and followers of a single process.
#[derive(Debug, Default)]
pub struct LocalLiveProgress(Mutex<HashMap<JobId, BTreeMap<u32, EpisodeProgress>>>);

impl LocalLiveProgress {
    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, BTreeMap<u32, EpisodeProgress>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveProgress for LocalLiveProgress {
    fn step(&self, job: JobId, step: EpisodeProgress) {
        self.lock().entry(job).or_default().insert(step.episode, step);
    }

    fn ended(&self, job: JobId, episode: u32) {
        let mut jobs = self.lock();
        if let Some(episodes) = jobs.get_mut(&job) {
            episodes.remove(&episode);
            if episodes.is_empty() {
                jobs.remove(&job);
            }
        }
    }

    fn steps(&self, job: JobId) -> Vec<EpisodeProgress> {
        self.lock().get(&job).map(|episodes| episodes.values().copied().collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn what_runs_is_told_until_it_ends() {
        let (live, job) = (LocalLiveProgress::default(), "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap());
        let step = |episode, step| EpisodeProgress { episode, step, of: 9 };
        for step in [step(1, 1), step(0, 1), step(1, 2)] {
            live.step(job, step);
        }
        assert_eq!(live.steps(job), [step(0, 1), step(1, 2)]);
        for episode in [0, 1, 1] {
            live.ended(job, episode);
        }
        assert_eq!(live.steps(job), []);
        assert!(live.lock().is_empty(), "nothing is left of a job");
    }
}
