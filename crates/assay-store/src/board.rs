//! What counts in a season, as the ranking wants it.

use assay_model::{Entrant, EpisodeScore, Verdict, Worlds, round3};
use jiff::Timestamp;

use crate::{JobRecord, JobState, Records, Season, StoreError};

/// Episodes of a submission: as many as a scenario may ask for.
const MAX_EPISODES: u32 = 1000;

/// An account's entry in a season.
#[derive(Debug, Clone, PartialEq)]
pub struct SeasonEntry {
    /// The submission that counts.
    pub submission: JobRecord,
    /// It was run again on fresh seeds, and that is what counts since the season is closed.
    pub rerun: Option<JobRecord>,
}

impl SeasonEntry {
    /// The run whose result counts.
    #[must_use]
    pub fn run(&self) -> &JobRecord {
        self.rerun.as_ref().unwrap_or(&self.submission)
    }

    /// The worlds of that run.
    #[must_use]
    pub fn worlds(&self) -> Worlds {
        if self.rerun.is_some() { Worlds::Fresh } else { Worlds::Season }
    }

    /// The gravest verdict that was found, on the season's worlds or on fresh ones.
    #[must_use]
    pub fn gravest_verdict(&self) -> Option<Verdict> {
        let runs = std::iter::once(&self.submission).chain(&self.rerun);
        runs.filter_map(|run| Some(run.conclusion()?.0.verdict)).max_by_key(|verdict| verdict.gravity())
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
) -> Result<Vec<SeasonEntry>, StoreError> {
    let mut reruns = match season.is_closed() {
        true => records.reruns(&season.scenario, season.number).await?,
        false => Vec::new(),
    };
    // One that we could not do leaves the season's own result.
    reruns.retain(|(_, run)| matches!(run.state, JobState::Completed { .. }));
    let published_by = published_by.filter(|_| !season.is_closed());
    let standing = records.season_standing(&season.scenario, season.number, published_by).await?;
    let with_rerun = |submission: JobRecord| {
        let again = reruns.iter().position(|(of, _)| *of == submission.header.job_id);
        SeasonEntry { submission, rerun: again.map(|index| reruns.swap_remove(index).1) }
    };
    Ok(standing.into_iter().map(with_rerun).collect())
}

/// The entrants, in the same order, with the run that counts. Before the season is closed their scores have the 3 digits
/// that are published, so that an order reveals no more than they do.
///
/// # Errors
/// The records fail.
pub async fn entrants(
    records: &dyn Records,
    season: &Season,
    counted: &[SeasonEntry],
) -> Result<Vec<Entrant>, StoreError> {
    let mut entrants = Vec::with_capacity(counted.len());
    for entry in counted {
        entrants.push(entrant(records, season, entry.run(), entry.worlds()).await?);
    }
    Ok(entrants)
}

/// The same with everybody's run on the season's own worlds, so that all of them compare, and with the gravest verdict.
///
/// # Errors
/// The records fail.
pub async fn season_entrants(
    records: &dyn Records,
    season: &Season,
    counted: &[SeasonEntry],
) -> Result<Vec<Entrant>, StoreError> {
    let mut entrants = Vec::with_capacity(counted.len());
    for entry in counted {
        let found = entrant(records, season, &entry.submission, Worlds::Season).await?;
        entrants.push(Entrant { verdict: entry.gravest_verdict().unwrap_or(found.verdict), ..found });
    }
    Ok(entrants)
}

async fn entrant(
    records: &dyn Records,
    season: &Season,
    run: &JobRecord,
    worlds: Worlds,
) -> Result<Entrant, StoreError> {
    let Some((found, _)) = run.conclusion() else {
        return Err(StoreError::Invalid("an entry without a result".into()));
    };
    let episodes = records.episodes(run.header.job_id, 0, MAX_EPISODES).await?;
    Ok(Entrant {
        verdict: found.verdict,
        score: if season.is_closed() { found.score } else { round3(found.score) },
        progress: found.progress_score,
        episodes: run.header.plan.counted(&episodes).iter().map(EpisodeScore::from).collect(),
        worlds,
    })
}
