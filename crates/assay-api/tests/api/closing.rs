//! Closes seasons, for tests of what is published then.

use std::num::NonZeroU32;

use assay_model::{ArenaEntry, Clock, EpisodeResult, JobHeader, JobId, JobKind, SeasonSecret};
use assay_store::{JobDemands, JobFilter, JobRecord, NewJob, NewRerun};
use jiff::Timestamp;

use crate::app::TestApp;

impl TestApp {
    /// Closes the season of the cart-pole, without running anything again.
    pub(crate) async fn close_season(&self) {
        self.close_season_after(&[], assay_store_testing::episode).await;
    }

    /// The same, after these submissions ran again: every episode as `result` says.
    pub(crate) async fn close_season_after(&self, again: &[&str], result: impl Fn(u32) -> EpisodeResult) {
        let (records, scenario, now) = (&self.state.records, "cartpole_keepin".parse().unwrap(), self.clock.now());
        let all = JobFilter { kind: JobKind::Submission, limit: 100, ..JobFilter::default() };
        let jobs = records.jobs(&all).await.unwrap().0;
        for job in &jobs {
            records.cancel_job(None, job.header.job_id, now).await.unwrap();
        }
        let fresh = SeasonSecret::new([1; 32]);
        let first = jobs.iter().filter(|job| again.contains(&job.header.job_id.to_string().as_str()));
        let reruns = first.map(|job| rerun(job, &fresh, now)).collect();
        records.begin_closing_season(&scenario, 0, fresh, now).await.unwrap();
        records.begin_reruns(&scenario, 1, reruns, now).await.unwrap();
        self.work(result).await;
        assert!(records.finish_closing_season(&scenario, 1, now).await.unwrap());
    }
}

fn rerun(job: &JobRecord, fresh: &SeasonSecret, now: Timestamp) -> NewRerun {
    let header = JobHeader {
        job_id: JobId::new(now, fresh.derived_id(&job.header.job_id.to_string())),
        arena: job.header.arena.clone().map(|arena| ArenaEntry { rerun: true, ..arena }),
        ..job.header.clone()
    };
    let job_again = NewJob {
        account: job.account.clone(),
        header,
        policy_path: job.policy_path.clone(),
        shard_episodes: NonZeroU32::MIN,
        quota: None,
        callback_url: None,
        demands: JobDemands::default(),
    };
    NewRerun { of: job.header.job_id, job: job_again }
}
