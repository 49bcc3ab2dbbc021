//! The entries of a board.

use assay_model::{AccountId, Grid, JobId, JobKind, Place, Verdict, Worlds, round4};
use assay_store::{JobRecord, SeasonEntry};
use jiff::Timestamp;
use serde::Serialize;

/// Number of steps in [0, 1] to which a score's interval is rounded on the board of an open season.
const STEPS: f64 = 20.0;

/// An entry of a leaderboard.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub(crate) struct LeaderboardEntry {
    /// Rank, counted from 1; tied entries share a rank. `null` for entries that are no better than the idle policy,
    /// and, on a board of several scenarios, for accounts without a SAFE entry.
    pub(crate) rank: Option<u32>,
    /// Best rank of the interval: 1 plus the number of entries that are significantly ahead, judged by their lead in
    /// the worlds that both ran in and by the board's order.
    pub(crate) rank_low: Option<u32>,
    /// Worst rank of the interval: the number of entries minus those that are significantly behind. Both ends hold
    /// with a confidence of 95 %.
    pub(crate) rank_high: Option<u32>,
    /// Id of the submission; `null` on a board of several scenarios.
    pub(crate) submission_id: Option<JobId>,
    /// Name of the policy; `null` on a board of several scenarios.
    pub(crate) policy_name: Option<String>,
    pub(crate) account: AccountId,
    /// Verdict; on a board of several scenarios, the worst one.
    pub(crate) verdict: Verdict,
    /// Worlds of the run that counts: `fresh` for the top entries of a closed season, `season` otherwise. Entries with
    /// the same verdict are ordered by worlds, `fresh` first, and then by score. `null` on a board of several
    /// scenarios, which uses the seasons' worlds.
    pub(crate) worlds: Option<Worlds>,
    /// Score out of the scenario's `max_score`; on a board of several scenarios, the mean share of it that was reached,
    /// in [0, 1], where a missing or not SAFE entry counts as 0. While a season is open, it is computed from shares
    /// rounded to 3 decimal places.
    #[schemars(range(min = 0))]
    pub(crate) score: f64,
    /// Score on the season's worlds, which all entries ran in, so it is comparable between all of them. `null` on a
    /// board of several scenarios.
    #[schemars(range(min = 0))]
    pub(crate) season_score: Option<f64>,
    /// Lower end of the interval (by the board's `interval_method`) for the score over all worlds that the scenario can
    /// draw; `score_high` is the upper end. While a season is open, both are rounded outward to twentieths of the
    /// perfect score.
    #[schemars(range(min = 0))]
    pub(crate) score_low: f64,
    #[schemars(range(min = 0))]
    pub(crate) score_high: f64,
    #[schemars(range(min = 0, max = 1))]
    pub(crate) success_rate: f64,
    /// Safety score; `null` while a season is open.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) safety_score: Option<f64>,
    /// Number of episodes that counted.
    pub(crate) episodes: u32,
    pub(crate) created_at: Timestamp,
    #[serde(skip)]
    pub(super) completed_at: Timestamp,
}

impl LeaderboardEntry {
    pub(crate) fn completed_at(&self) -> Timestamp {
        self.completed_at
    }
}

/// Creates the entry of a submission on the board of its scenario.
pub(super) fn entry_line(entry: &SeasonEntry, place: Place, max_score: f64, is_open: bool) -> Option<LeaderboardEntry> {
    let line = leaderboard_entry(entry, entry.run(), place, max_score, is_open)?;
    let season_score = match entry.worlds() {
        Worlds::Fresh => round4(max_score * round4(entry.submission.conclusion()?.0.score)),
        Worlds::Season => line.score,
    };
    Some(LeaderboardEntry { worlds: Some(entry.worlds()), season_score: Some(season_score), ..line })
}

pub(super) fn leaderboard_entry(
    entry: &SeasonEntry,
    of: &JobRecord,
    place: Place,
    max_score: f64,
    is_open: bool,
) -> Option<LeaderboardEntry> {
    let (header, (found, _)) = (&entry.submission.header, of.conclusion()?);
    let run = of.report(&[]);
    let completed_at = match of.header.kind() {
        JobKind::Submission => Grid::of(run.created_at).published(run.completed_at?),
        JobKind::Verify | JobKind::Rerun => run.completed_at?,
    };
    let (score_low, score_high) = match is_open {
        true => round_outward(place.score_low, place.score_high),
        false => (place.score_low, place.score_high),
    };
    Some(LeaderboardEntry {
        rank: place.rank,
        rank_low: place.rank_low,
        rank_high: place.rank_high,
        submission_id: Some(header.job_id),
        policy_name: Some(header.policy_name.clone()),
        account: entry.submission.account.clone(),
        verdict: found.verdict,
        worlds: None,
        score: round4(max_score * place.score),
        season_score: None,
        score_low: round4(max_score * score_low),
        score_high: round4(max_score * score_high),
        success_rate: found.success_rate,
        safety_score: (!is_open).then_some(found.safety_score),
        episodes: found.statistics.episodes,
        created_at: header.created_at,
        completed_at,
    })
}

/// Rounds an interval of scores in [0, 1] outward to coarse steps, which reveal little about single worlds.
fn round_outward(low: f64, high: f64) -> (f64, f64) {
    // Absorbs rounding errors, so that a value on a step stays there.
    const SLACK: f64 = 1e-9;
    ((low * STEPS + SLACK).floor() / STEPS, (high * STEPS - SLACK).ceil() / STEPS)
}

/// Sorts the best entries first and those without a rank last; tied entries by age.
pub(super) fn sort_entries(mut entries: Vec<LeaderboardEntry>) -> Vec<LeaderboardEntry> {
    entries.sort_by_key(|line| (line.rank.unwrap_or(u32::MAX), line.created_at, line.account.clone()));
    entries
}
