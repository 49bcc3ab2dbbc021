//! The leaderboards: the ranked submissions that count in a season. A board is cached until the runs that count change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_model::{
    AccountId, Entrant, Grid, JobId, JobKind, Place, ScenarioId, Verdict, Worlds, rank, rank_together, round4,
};
use assay_store::{JobRecord, Season, SeasonEntry, entrants, season_entrants, season_entries};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::ApiError;
use crate::state::App;

/// Cached boards; beyond this number the first by name is dropped.
const MAX_BOARDS: usize = 256;

/// Number of steps in [0, 1] to which a score's interval is rounded on the board of an open season.
const STEPS: f64 = 20.0;

/// An entry of a leaderboard.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub(crate) struct LeaderboardEntry {
    /// Rank from 1; tied entries share it. `null` for entries no better than doing nothing, and on a board of several
    /// scenarios for accounts without a SAFE entry.
    rank: Option<u32>,
    /// 1 + the number of entries that are certainly ahead, by their lead in the worlds that both ran in and by the
    /// order.
    rank_low: Option<u32>,
    /// The number of entries less those that are certainly behind. Both ends hold with a confidence of 95 %.
    rank_high: Option<u32>,
    /// `null` on a board of several scenarios.
    submission_id: Option<JobId>,
    /// `null` on a board of several scenarios.
    policy_name: Option<String>,
    account: AccountId,
    /// The worst verdict on a board of several scenarios.
    verdict: Verdict,
    /// The worlds of the run that counts: `fresh` for the top entries of a closed season, `season` otherwise. Entries
    /// with the same verdict are ordered by worlds, `fresh` first, and then by score. `null` on a board of several
    /// scenarios, which uses the seasons' worlds.
    worlds: Option<Worlds>,
    /// Out of the scenario's `max_score`; on a board of several scenarios, the mean share reached in [0, 1], where a
    /// missing or not SAFE entry counts 0. While a season is open it is computed from 3 digits of the share reached.
    #[schema(minimum = 0.0)]
    score: f64,
    /// The score on the season's worlds, which all entries ran in, so it is comparable between all of them. `null` on a
    /// board of several scenarios.
    #[schema(minimum = 0.0)]
    season_score: Option<f64>,
    /// With `score_high`, an interval (by the board's `interval_method`) for the score over all worlds that the
    /// scenario can draw. While a season is open both are rounded outward to twentieths of the perfect score.
    #[schema(minimum = 0.0)]
    score_low: f64,
    #[schema(minimum = 0.0)]
    score_high: f64,
    #[schema(minimum = 0.0, maximum = 1.0)]
    success_rate: f64,
    /// `null` while a season is open.
    #[schema(minimum = 0.0, maximum = 1.0)]
    safety_score: Option<f64>,
    /// Episodes that counted.
    episodes: u32,
    created_at: Timestamp,
    #[serde(skip)]
    completed_at: Timestamp,
}

impl LeaderboardEntry {
    pub(crate) fn completed_at(&self) -> Timestamp {
        self.completed_at
    }
}

/// The cached boards; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct Boards(Arc<Mutex<BTreeMap<String, CachedBoard>>>);

/// A board, and the runs that counted when it was computed.
#[derive(Debug)]
struct CachedBoard {
    runs: Vec<JobId>,
    entries: Arc<Vec<LeaderboardEntry>>,
}

impl Boards {
    fn cached(&self, name: &str, runs: &[JobId]) -> Option<Arc<Vec<LeaderboardEntry>>> {
        let boards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        boards.get(name).filter(|board| board.runs == runs).map(|board| Arc::clone(&board.entries))
    }

    fn store(&self, name: String, runs: Vec<JobId>, entries: &Arc<Vec<LeaderboardEntry>>) {
        let mut boards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if boards.len() >= MAX_BOARDS {
            boards.pop_first();
        }
        boards.insert(name, CachedBoard { runs, entries: Arc::clone(entries) });
    }
}

/// The submissions of one season that count.
struct SeasonResults {
    season: Season,
    counted: Vec<SeasonEntry>,
}

impl SeasonResults {
    async fn of(app: &App, scenario: &ScenarioId, number: Option<u32>) -> Result<Option<Self>, ApiError> {
        let Some(season) = app.records.season(scenario, number).await? else { return Ok(None) };
        let counted = season_entries(&*app.records, &season, Some(app.clock.now())).await?;
        Ok(Some(Self { season, counted }))
    }

    /// Returns the part of a cached board's name that distinguishes open from closed seasons: closing publishes more
    /// of the same runs.
    fn stage(&self) -> &'static str {
        if self.season.is_closed() { "closed" } else { "open" }
    }

    fn runs(&self) -> impl Iterator<Item = JobId> {
        self.counted.iter().map(|entry| entry.run().header.job_id)
    }
}

/// Returns the board of a scenario's season (the newest if `number` is `None`), and the season's number.
pub(crate) async fn scenario_board(
    app: &App,
    scenario: &ScenarioId,
    number: Option<u32>,
) -> Result<(Option<u32>, Arc<Vec<LeaderboardEntry>>), ApiError> {
    let Some(contest) = SeasonResults::of(app, scenario, number).await? else { return Ok((None, Arc::default())) };
    let season = contest.season.number;
    let name = format!("scenario {scenario} {season} {}", contest.stage());
    let runs: Vec<JobId> = contest.runs().collect();
    if let Some(entries) = app.boards.cached(&name, &runs) {
        return Ok((Some(season), entries));
    }
    let entrants = entrants(&*app.records, &contest.season, &contest.counted).await?;
    let entries = spawn_ranking(move || {
        let (pins, is_open) = (&contest.season.pins, !contest.season.is_closed());
        let places = rank(&entrants, pins.idle_progress);
        let entries = contest.counted.iter().zip(places);
        sort_entries(
            entries.filter_map(|(entry, place)| entry_line(entry, place, f64::from(pins.max_score), is_open)).collect(),
        )
    });
    let entries = entries.await?;
    app.boards.store(name, runs, &entries);
    Ok((Some(season), entries))
}

/// Returns the board `name` of several scenarios: each account's mean share of the scores on the seasons' own worlds.
pub(crate) async fn combined_board(
    app: &App,
    name: &str,
    scenarios: Vec<ScenarioId>,
) -> Result<Arc<Vec<LeaderboardEntry>>, ApiError> {
    let mut contests = Vec::with_capacity(scenarios.len());
    for scenario in &scenarios {
        contests.push(SeasonResults::of(app, scenario, None).await?);
    }
    let runs: Vec<JobId> = contests.iter().flatten().flat_map(SeasonResults::runs).collect();
    let stages: Vec<_> = contests.iter().map(|contest| contest.as_ref().map_or("none", SeasonResults::stage)).collect();
    let name = format!("{name} {}", stages.join(" "));
    if let Some(entries) = app.boards.cached(&name, &runs) {
        return Ok(entries);
    }
    let mut boards = Vec::with_capacity(contests.len());
    for contest in &contests {
        boards.push(match contest {
            Some(SeasonResults { season, counted }) => {
                (season.pins.idle_progress, season_entrants(&*app.records, season, counted).await?)
            }
            None => (0.0, Vec::new()),
        });
    }
    let entries = spawn_ranking(move || sort_entries(combined(&contests, &boards))).await?;
    app.boards.store(name, runs, &entries);
    Ok(entries)
}

fn combined(contests: &[Option<SeasonResults>], boards: &[(f64, Vec<Entrant>)]) -> Vec<LeaderboardEntry> {
    let mut members: BTreeMap<&AccountId, Vec<Option<usize>>> = BTreeMap::new();
    for (board, contest) in contests.iter().enumerate() {
        for (index, entry) in contest.iter().flat_map(|contest| &contest.counted).enumerate() {
            let member = members.entry(&entry.submission.account).or_insert_with(|| vec![None; contests.len()]);
            member[board] = Some(index);
        }
    }
    let places = rank_together(boards, &members.values().cloned().collect::<Vec<_>>());
    let line = |account: &AccountId, member: &[Option<usize>], place: Place| {
        let is_open = contests.iter().flatten().any(|contest| !contest.season.is_closed());
        let found = contests.iter().zip(member).filter_map(|(contest, index)| contest.as_ref()?.counted.get((*index)?));
        let entry = |entry: &SeasonEntry| {
            let line = leaderboard_entry(entry, &entry.submission, place, 1.0, is_open)?;
            Some(LeaderboardEntry { verdict: entry.gravest_verdict()?, ..line })
        };
        let entries: Vec<LeaderboardEntry> = found.filter_map(entry).collect();
        #[expect(clippy::cast_precision_loss, reason = "scenarios are counted in tens")]
        let mean = |of: &dyn Fn(&LeaderboardEntry) -> f64| {
            round4(entries.iter().map(of).sum::<f64>() / contests.len().max(1) as f64)
        };
        let worst = entries.iter().map(|line| line.verdict).max_by_key(|verdict| verdict.gravity())?;
        Some(LeaderboardEntry {
            submission_id: None,
            policy_name: None,
            account: account.clone(),
            verdict: worst,
            worlds: None,
            season_score: None,
            success_rate: mean(&|line| line.success_rate),
            safety_score: (!is_open).then(|| mean(&|line| line.safety_score.unwrap_or(0.0))),
            episodes: entries.iter().map(|line| line.episodes).sum(),
            created_at: entries.iter().map(|line| line.created_at).max()?,
            completed_at: entries.iter().map(|line| line.completed_at).max()?,
            ..entries.first()?.clone()
        })
    };
    members.iter().zip(places).filter_map(|((account, member), place)| line(account, member, place)).collect()
}

/// Creates the entry of a submission on the board of its scenario.
fn entry_line(entry: &SeasonEntry, place: Place, max_score: f64, is_open: bool) -> Option<LeaderboardEntry> {
    let line = leaderboard_entry(entry, entry.run(), place, max_score, is_open)?;
    let season_score = match entry.worlds() {
        Worlds::Fresh => round4(max_score * round4(entry.submission.conclusion()?.0.score)),
        Worlds::Season => line.score,
    };
    Some(LeaderboardEntry { worlds: Some(entry.worlds()), season_score: Some(season_score), ..line })
}

fn leaderboard_entry(
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
fn sort_entries(mut entries: Vec<LeaderboardEntry>) -> Vec<LeaderboardEntry> {
    entries.sort_by_key(|line| (line.rank.unwrap_or(u32::MAX), line.created_at, line.account.clone()));
    entries
}

async fn spawn_ranking(
    work: impl FnOnce() -> Vec<LeaderboardEntry> + Send + 'static,
) -> Result<Arc<Vec<LeaderboardEntry>>, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map(Arc::new).map_err(|e| ApiError::internal("ranking panicked", &e))
}
