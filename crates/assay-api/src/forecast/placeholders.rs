//! Placeholder shards for submissions whose progress is hidden.
//!
//! The estimate of a job depends on the jobs before it. While a season is open, the progress of a submission's shards
//! is hidden, so the simulation uses placeholder shards for them. These are derived from the time of acceptance, the
//! published start, and the usual length of the scenario's episodes.

use assay_model::{AccountId, Grid, ScenarioId};
use assay_store::{HiddenSubmission, OpenShard};
use jiff::{SignedDuration, Timestamp};

/// Adds the placeholder shards of the hidden submissions to the shards of all other jobs, ordered by job. `pace`
/// returns the duration of an episode of a scenario in seconds, if it is known.
pub(super) fn with_placeholders(
    mut shards: Vec<OpenShard>,
    hidden: &[HiddenSubmission],
    lanes: usize,
    now: Timestamp,
    pace: impl Fn(&ScenarioId) -> Option<f64>,
) -> Vec<OpenShard> {
    // The turn of an account also depends on its submissions, so it is not used.
    let of_hidden = |account: &AccountId| hidden.iter().any(|one| *one.account == *account);
    for shard in shards.iter_mut().filter(|shard| of_hidden(&shard.account)) {
        shard.turn = 0;
    }
    let held = shards.iter().filter(|shard| shard.since.is_some()).count();
    let mut free = lanes.saturating_sub(held);
    for submission in hidden {
        let grid = Grid::of(submission.created_at);
        let published =
            |at: Option<Timestamp>| at.filter(|at| grid.is_published(*at, now)).map(|at| grid.published(at));
        if published(submission.judging_at).is_some() {
            continue;
        }
        let started = published(submission.started_at);
        let pieces = if started.is_some() { free.clamp(1, lanes.max(1)) } else { lanes.max(1) };
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX).min(submission.episodes).max(1);
        let episodes = submission.episodes.div_ceil(pieces);
        let has_lane = started.is_some() && free > 0;
        if has_lane {
            free = free.saturating_sub(usize::try_from(pieces).unwrap_or(usize::MAX));
        }
        let (since, left) = match started.filter(|_| has_lane) {
            Some(started) => current_episode(started, now, episodes, pace(&submission.scenario)),
            None => (None, episodes),
        };
        shards.extend((0..pieces).map(|_| OpenShard {
            job_id: submission.job_id,
            is_queued_job: started.is_none(),
            account: submission.account.clone(),
            turn: 0,
            scenario: submission.scenario.clone(),
            remote: false,
            episodes_left: left,
            since,
        }));
    }
    shards.sort_by_key(|shard| shard.job_id);
    shards
}

/// Returns the start of the current episode and the number of episodes left, if all take the usual time.
fn current_episode(started: Timestamp, now: Timestamp, episodes: u32, pace: Option<f64>) -> (Option<Timestamp>, u32) {
    let Some(each) = pace.filter(|each| *each > 0.0) else { return (Some(started), episodes) };
    let passed = now.duration_since(started).as_secs_f64().max(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is never negative")]
    let whole = ((passed / each) as u32).min(episodes.saturating_sub(1));
    let since = started.saturating_add(SignedDuration::from_secs_f64(f64::from(whole) * each)).unwrap_or(now);
    (Some(since), episodes - whole)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::sync::Arc;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_750_000_000 + second).unwrap()
    }

    fn submission(started_s: Option<i64>, judging_s: Option<i64>) -> HiddenSubmission {
        HiddenSubmission {
            job_id: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(),
            account: Arc::new("lab".parse().unwrap()),
            scenario: Arc::new("known".parse().unwrap()),
            episodes: 21,
            created_at: at(0),
            started_at: started_s.map(at),
            judging_at: judging_s.map(at),
        }
    }

    fn shards(submission: HiddenSubmission, now: i64) -> Vec<(bool, u32, Option<Timestamp>)> {
        let shards = with_placeholders(Vec::new(), &[submission], 2, at(now), |_| Some(2.0));
        shards.into_iter().map(|shard| (shard.is_queued_job, shard.episodes_left, shard.since)).collect()
    }

    #[test]
    fn placeholders_depend_only_on_published_times() {
        assert_eq!(shards(submission(None, None), 3), [(true, 11, None); 2]);
        assert_eq!(shards(submission(Some(3), None), 14), [(true, 11, None); 2], "its start is not published");
        assert_eq!(shards(submission(Some(3), None), 20), [(false, 9, Some(at(19))); 2], "two of 2 s since 15 s");
        assert_eq!(shards(submission(Some(3), Some(22)), 29), [(false, 4, Some(at(29))); 2], "nor is its end");
        assert_eq!(shards(submission(Some(3), Some(22)), 30), []);
        assert_eq!(shards(submission(Some(3), None), 200), [(false, 1, Some(at(35))); 2], "longer than expected");
    }
}
