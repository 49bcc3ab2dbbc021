//! What counts in a season, as the ranking wants it.

use assay_model::{Entrant, EpisodeScore, round3};
use jiff::Timestamp;

use crate::{JobRecord, JobState, Records, Season, StoreError};

/// Episodes of a submission: as many as a scenario may ask for.
const MAX_EPISODES: u32 = 1000;
/// Index of the worlds that all submissions of a season share.
const SEASON: usize = 0;
/// Index of the fresh worlds of a season's end.
const FRESH: usize = 1;

/// An account's entry in a season.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// The submission that counts.
    pub submission: JobRecord,
    /// It was run again on fresh seeds, and that is what counts since the season is closed.
    pub rerun: Option<JobRecord>,
}

impl Counted {
    /// The run whose result counts.
    #[must_use]
    pub fn run(&self) -> &JobRecord {
        self.rerun.as_ref().unwrap_or(&self.submission)
    }
}

/// What counts in a season, by submission. With `published_by`, and before the season is closed, only what is published
/// by then.
///
/// # Errors
/// The records fail.
pub async fn counted(
    records: &dyn Records,
    season: &Season,
    published_by: Option<Timestamp>,
) -> Result<Vec<Counted>, StoreError> {
    let mut reruns = match season.is_closed() {
        true => records.reruns(&season.scenario, season.number).await?,
        false => Vec::new(),
    };
    // One that we could not do leaves the season's own result.
    reruns.retain(|(_, run)| matches!(run.state, JobState::Completed { .. }));
    let published_by = published_by.filter(|_| !season.is_closed());
    let standing = records.standing(&season.scenario, season.number, published_by).await?;
    let with_rerun = |submission: JobRecord| {
        let again = reruns.iter().position(|(of, _)| *of == submission.header.job_id);
        Counted { submission, rerun: again.map(|index| reruns.swap_remove(index).1) }
    };
    Ok(standing.into_iter().map(with_rerun).collect())
}

/// The entrants, in the same order. Before the season is closed their scores have the 3 digits that are published, so
/// that an order reveals no more than they do.
///
/// # Errors
/// The records fail.
pub async fn entrants(records: &dyn Records, season: &Season, counted: &[Counted]) -> Result<Vec<Entrant>, StoreError> {
    let mut entrants = Vec::with_capacity(counted.len());
    for entry in counted {
        let run = entry.run();
        let Some((found, _)) = run.conclusion() else {
            return Err(StoreError::Invalid("an entry without a result".into()));
        };
        let episodes = records.episodes(run.header.job_id, 0, MAX_EPISODES).await?;
        entrants.push(Entrant {
            verdict: found.verdict,
            score: if season.is_closed() { found.score } else { round3(found.score) },
            progress: found.progress_score,
            episodes: run.header.plan.counted(&episodes).iter().map(EpisodeScore::from).collect(),
            worlds: if entry.rerun.is_some() { FRESH } else { SEASON },
        });
    }
    Ok(entrants)
}
