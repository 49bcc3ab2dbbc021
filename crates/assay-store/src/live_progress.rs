//! Live progress of running episodes, which is not stored.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_model::JobId;

use crate::{Bulletin, JobEpisodeProgress};

/// Time for which the end of an episode is reported to other processes.
const ENDS: Duration = Duration::from_secs(5);
/// Maximum number of ends that are reported.
const MAX_ENDS: usize = 1000;
/// Maximum number of running episodes that are reported.
const MAX_RUNNING: usize = 2000;

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

/// The progress that workers report to followers; shared by all its clones. Nothing depends on it: reports may be lost.
#[derive(Debug, Clone, Default)]
pub struct LiveProgress(Arc<Mutex<Reports>>);

type Episodes = HashMap<JobId, BTreeMap<u32, EpisodeProgress>>;

#[derive(Debug, Default)]
struct Reports {
    /// Reported to this process.
    own: Episodes,
    /// Reported to other processes.
    others: Episodes,
    /// The last ends reported to this process.
    ended: VecDeque<(Instant, JobId, u32)>,
}

impl LiveProgress {
    /// Reports the progress of an episode. Never blocks.
    pub fn report(&self, job: JobId, progress: EpisodeProgress) {
        self.lock().own.entry(job).or_default().insert(progress.episode, progress);
    }

    /// Reports that an episode no longer runs.
    pub fn end(&self, job: JobId, episode: u32) {
        let mut reports = self.lock();
        if reports.ended.len() >= MAX_ENDS {
            reports.ended.pop_front();
        }
        reports.ended.push_back((Instant::now(), job, episode));
        remove(&mut reports.own, job, episode);
        remove(&mut reports.others, job, episode);
    }

    /// Returns the known progress of a job's running episodes.
    #[must_use]
    pub fn running(&self, job: JobId) -> Vec<EpisodeProgress> {
        let reports = self.lock();
        let mut episodes = reports.own.get(&job).cloned().unwrap_or_default();
        for (episode, progress) in reports.others.get(&job).into_iter().flatten() {
            // The worker may have switched to another process, so the furthest report is the newest.
            let known = episodes.entry(*episode).or_insert(*progress);
            known.step = known.step.max(progress.step);
        }
        episodes.into_values().collect()
    }

    /// Adds what was reported to this process to its bulletin.
    pub fn report_to(&self, bulletin: &mut Bulletin) {
        let mut reports = self.lock();
        reports.ended.retain(|(at, ..)| at.elapsed() < ENDS);
        bulletin.ended = reports.ended.iter().map(|(_, job, episode)| (*job, *episode)).collect();
        let running = reports.own.iter().flat_map(|(job_id, episodes)| {
            episodes.values().map(|EpisodeProgress { episode, step, max_steps }| JobEpisodeProgress {
                job_id: *job_id,
                episode: *episode,
                step: *step,
                max_steps: *max_steps,
            })
        });
        bulletin.running = running.take(MAX_RUNNING).collect();
    }

    /// Takes over what was reported to other processes.
    pub fn receive(&self, bulletins: &[Bulletin]) {
        let mut reports = self.lock();
        reports.others.clear();
        for JobEpisodeProgress { job_id, episode, step, max_steps } in bulletins.iter().flat_map(|told| &told.running) {
            let progress = EpisodeProgress { episode: *episode, step: *step, max_steps: *max_steps };
            reports.others.entry(*job_id).or_default().insert(*episode, progress);
        }
        for (job, episode) in bulletins.iter().flat_map(|told| &told.ended) {
            remove(&mut reports.own, *job, *episode);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reports> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove(jobs: &mut Episodes, job: JobId, episode: u32) {
    if let Some(episodes) = jobs.get_mut(&job) {
        episodes.remove(&episode);
        if episodes.is_empty() {
            jobs.remove(&job);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn job() -> JobId {
        "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()
    }

    fn step(episode: u32, step: u32) -> EpisodeProgress {
        EpisodeProgress { episode, step, max_steps: 9 }
    }

    #[test]
    fn progress_is_reported_until_the_episode_ends() {
        let (live, job) = (LiveProgress::default(), job());
        for step in [step(1, 1), step(0, 1), step(1, 2)] {
            live.report(job, step);
        }
        assert_eq!(live.running(job), [step(0, 1), step(1, 2)]);
        for episode in [0, 1, 1] {
            live.end(job, episode);
        }
        assert_eq!(live.running(job), []);
        assert!(live.lock().own.is_empty(), "no entry of the job is left");
        for episode in 0..3000 {
            live.end(job, episode);
        }
        assert_eq!(live.lock().ended.len(), MAX_ENDS, "the memory is bounded");
    }

    #[test]
    fn processes_tell_each_other() {
        let (here, there, job) = (LiveProgress::default(), LiveProgress::default(), job());
        let tell = |from: &LiveProgress, to: &LiveProgress| {
            let mut bulletin = Bulletin::default();
            from.report_to(&mut bulletin);
            to.receive(&[bulletin]);
        };
        here.report(job, step(0, 3));
        there.report(job, step(1, 4));
        tell(&here, &there);
        assert_eq!(there.running(job), [step(0, 3), step(1, 4)]);

        // The worker of episode 0 goes over to the other process, and ends the episode there.
        there.report(job, step(0, 7));
        tell(&there, &here);
        assert_eq!(here.running(job), [step(0, 7), step(1, 4)]);
        there.end(job, 0);
        tell(&there, &here);
        assert_eq!(here.running(job), [step(1, 4)]);
        tell(&here, &there);
        assert_eq!(there.running(job), [step(1, 4)]);
        here.receive(&[]);
        assert_eq!(here.running(job), [], "a process that has gone tells nothing");
    }
}
