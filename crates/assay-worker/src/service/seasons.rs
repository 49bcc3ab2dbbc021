//! The worker's part of the arena: the end of a season.
//!
//! A closing season goes through steps kept in the records, so any worker can continue where another stopped: its
//! submissions end, its first entries are queued again on fresh seeds (all in one transaction), they end, it is closed.

use std::num::NonZeroU32;

use assay_model::{ArenaEntry, JobHeader, JobId, Record, SeasonSecret, rank};
use assay_store::{
    JobDemands, NewJob, NewRerun, Season, SeasonEntry, SeasonState, StoreError, Work, entrants, season_entries,
};
use jiff::Timestamp;

use super::shared::WorkerShared;

/// Maximum number of episodes of a shard of a rerun.
const SHARD_EPISODES: u32 = 4;

impl WorkerShared {
    /// Advances each closing season by one step.
    pub(super) fn close_seasons(&self) {
        let seasons = match self.wait(self.options.records.seasons(None)) {
            Ok(seasons) => seasons,
            Err(error) => return error.log("could not read seasons"),
        };
        for season in seasons {
            let SeasonState::Closing { top, reruns_begun, .. } = season.state else { continue };
            if let Err(error) = self.close_season(&season, top, reruns_begun) {
                error.log(&format!("could not close season {} of {}", season.number, season.scenario));
            }
        }
    }

    fn close_season(&self, season: &Season, top: u32, reruns_begun: bool) -> Result<(), StoreError> {
        let (records, now) = (&self.options.records, self.options.clock.now());
        let (scenario, number) = (&season.scenario, season.number);
        if self.wait(records.unfinished_season_jobs(scenario, number))? > 0 {
            return Ok(());
        }
        if !reruns_begun {
            let reruns = self.first_entries(season, top, now)?;
            let shards: Vec<_> = reruns.iter().flat_map(|rerun| shards_of(&rerun.job)).collect();
            tracing::info!(scenario.id = %scenario, season = number, entries = reruns.len(), "reruns of first entries queued");
            if self.wait(records.begin_reruns(scenario, number, reruns, now))? {
                self.publish(shards);
            }
            return Ok(());
        }
        if self.wait(records.finish_closing_season(scenario, number, now))? {
            tracing::info!(scenario.id = %scenario, season = number, "season closed");
        }
        Ok(())
    }

    /// Returns the reruns of a season's first entries on fresh seeds.
    fn first_entries(&self, season: &Season, top: u32, now: Timestamp) -> Result<Vec<NewRerun>, StoreError> {
        let records = &*self.options.records;
        let secrets = self.wait(records.season_secrets(&season.scenario, season.number))?;
        let Some(fresh) = secrets.and_then(|secrets| secrets.rerun) else { return Ok(Vec::new()) };
        let entries = self.wait(season_entries(records, season, None))?;
        let places = rank(&self.wait(entrants(records, season, &entries))?, season.pins.idle_progress);
        let mut first: Vec<_> =
            entries.iter().zip(places).filter_map(|(entry, place)| Some((place.rank?, entry))).collect();
        first.sort_by_key(|(rank, _)| *rank);
        // An entry whose policy its owner erased cannot be rerun; its result stays as it is.
        let can_run = |entry: &SeasonEntry| entry.submission.removed.policy_at.is_none();
        let first = first.into_iter().filter(|(rank, entry)| *rank <= top && can_run(entry));
        Ok(first.map(|(_, entry)| rerun(entry, &fresh, now)).collect())
    }
}

fn rerun(entry: &SeasonEntry, fresh: &SeasonSecret, now: Timestamp) -> NewRerun {
    let submission = &entry.submission;
    let of = submission.header.job_id;
    let header = JobHeader {
        job_id: JobId::new(now, fresh.derived_id(&of.to_string())),
        created_at: now,
        record: Record::Violations,
        arena: submission.header.arena.clone().map(|arena| ArenaEntry { rerun: true, ..arena }),
        ..submission.header.clone()
    };
    let job = NewJob {
        // The platform starts it, so it counts against no cap.
        quota: None,
        callback_url: None,
        demands: JobDemands::default(),
        account: submission.account.clone(),
        header,
        policy_path: submission.policy_path.clone(),
        shard_episodes: NonZeroU32::new(SHARD_EPISODES).unwrap_or(NonZeroU32::MIN),
    };
    NewRerun { of, job }
}

fn shards_of(job: &NewJob) -> impl Iterator<Item = Work> {
    let shards = job.header.episodes_to_run().div_ceil(job.shard_episodes.get());
    let job_id = job.header.job_id;
    (0..shards).map(move |shard| Work::Shard { job_id, shard })
}
