//! The entries of a season, as input of its ranking.

use assay_model::{Entrant, EpisodeScore, Verdict, Worlds, round3};
use jiff::Timestamp;

use crate::{JobRecord, JobState, Records, Season, StoreError};

/// Maximum number of episodes of a submission: that of a scenario.
const MAX_EPISODES: u32 = 1000;

/// An account's entry in a season.
#[derive(Debug, Clone, PartialEq)]
pub struct SeasonEntry {
    /// The submission that counts.
    pub submission: JobRecord,
    /// Its rerun on fresh seeds, which counts once the season is closed.
    pub rerun: Option<JobRecord>,
}

impl SeasonEntry {
    /// Returns the run whose result counts.
    #[must_use]
    pub fn run(&self) -> &JobRecord {
        self.rerun.as_ref().unwrap_or(&self.submission)
    }

    /// Returns the kind of worlds of that run.
    #[must_use]
    pub fn worlds(&self) -> Worlds {
        if self.rerun.is_some() { Worlds::Fresh } else { Worlds::Season }
    }

    /// Returns the more severe of its verdicts on the season's worlds and on fresh ones.
    #[must_use]
    pub fn gravest_verdict(&self) -> Option<Verdict> {
        let runs = std::iter::once(&self.submission).chain(&self.rerun);
        runs.filter_map(|run| Some(run.conclusion()?.0.verdict)).max_by_key(|verdict| verdict.gravity())
    }
}

/// Returns the entries that count in a season, by submission. With `published_by`, and before the season is closed,
/// only those published by then.
///
/// # Errors
/// The records are unavailable.
pub async fn season_entries(
    records: &dyn Records,
    season: &Season,
    published_by: Option<Timestamp>,
) -> Result<Vec<SeasonEntry>, StoreError> {
    let mut reruns = match season.is_closed() {
        true => records.reruns(&season.scenario, season.number).await?,
        false => Vec::new(),
    };
    // If a rerun did not complete, the result on the season's worlds counts.
    reruns.retain(|(_, run)| matches!(run.state, JobState::Completed { .. }));
    let published_by = published_by.filter(|_| !season.is_closed());
    let standing = records.season_standing(&season.scenario, season.number, published_by).await?;
    let with_rerun = |submission: JobRecord| {
        let again = reruns.iter().position(|(of, _)| *of == submission.header.job_id);
        SeasonEntry { submission, rerun: again.map(|index| reruns.swap_remove(index).1) }
    };
    Ok(standing.into_iter().map(with_rerun).collect())
}

/// Returns the entrants of `entries`, in the same order, with the run that counts. Before the season is closed their
/// scores are rounded to the 3 published digits, so that the order reveals no more than the scores do.
///
/// # Errors
/// The records are unavailable.
pub async fn entrants(
    records: &dyn Records,
    season: &Season,
    entries: &[SeasonEntry],
) -> Result<Vec<Entrant>, StoreError> {
    let mut entrants = Vec::with_capacity(entries.len());
    for entry in entries {
        entrants.push(entrant(records, season, entry.run(), entry.worlds()).await?);
    }
    Ok(entrants)
}

/// Returns the entrants with every run on the season's own worlds, so that all are comparable, and with the most severe
/// verdict.
///
/// # Errors
/// The records are unavailable.
pub async fn season_entrants(
    records: &dyn Records,
    season: &Season,
    entries: &[SeasonEntry],
) -> Result<Vec<Entrant>, StoreError> {
    let mut entrants = Vec::with_capacity(entries.len());
    for entry in entries {
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
        return Err(StoreError::Invalid("an entry has no result".into()));
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
