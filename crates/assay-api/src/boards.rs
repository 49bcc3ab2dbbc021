//! The boards: what counts in the seasons, ranked. A board is made anew when what counts has changed, and kept until then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_model::{
    AccountId, Entrant, Grid, JobId, JobKind, Place, ScenarioId, Verdict, Worlds, rank, rank_together, round4,
};
use assay_store::{Counted, JobRecord, Season, counted, entrants, season_entrants};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::ApiError;
use crate::state::App;

/// Boards kept; over it the first by name goes.
const MAX_BOARDS: usize = 256;

/// Steps of a score's interval on the board of an open season.
const STEPS: f64 = 20.0;

/// A line of a board.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub(crate) struct LeaderboardEntry {
    /// From 1; level entries share it. `null` for those that are no better than doing nothing, and where several scenarios
    /// stand together for those without a SAFE entry.
    rank: Option<u32>,
    /// 1 + the entries that are certainly ahead: by what they lead in the worlds that both ran in, and by the order.
    rank_low: Option<u32>,
    /// The entries of the board less those that are certainly behind. With 95 % both ends hold.
    rank_high: Option<u32>,
    /// `null` where several scenarios stand together.
    submission_id: Option<JobId>,
    /// `null` where several scenarios stand together.
    policy_name: Option<String>,
    account: AccountId,
    /// The worst one where several scenarios stand together.
    verdict: Verdict,
    /// The worlds of the run that counts: `fresh` since the season was closed, for the first entries of it, `season`
    /// otherwise. Entries of the same verdict stand by their worlds, `fresh` first, and only then by their scores. `null`
    /// where several scenarios stand together, which go by the season's worlds.
    worlds: Option<Worlds>,
    /// Of the scenario's `max_score`; where several scenarios stand together, the mean of the shares reached, in [0, 1],
    /// where what is missing or not SAFE counts 0. While a season is open it follows from 3 digits of the share reached.
    #[schema(minimum = 0.0)]
    score: f64,
    /// The score on the season's worlds, in which everybody ran: these compare between all entries. `null` where several
    /// scenarios stand together.
    #[schema(minimum = 0.0)]
    season_score: Option<f64>,
    /// With `score_high`: an interval, by the board's `interval_method`, for the score over all worlds that the scenario
    /// can draw. While a season is open both are rounded outward to twentieths of the perfect score.
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

/// Boards that were made, with what counted then; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct Boards(Arc<Mutex<BTreeMap<String, CachedBoard>>>);

/// A board, and the runs that counted when it was made.
#[derive(Debug)]
struct CachedBoard {
    runs: Vec<JobId>,
    lines: Arc<Vec<LeaderboardEntry>>,
}

impl Boards {
    fn kept(&self, name: &str, runs: &[JobId]) -> Option<Arc<Vec<LeaderboardEntry>>> {
        let boards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        boards.get(name).filter(|kept| kept.runs == runs).map(|kept| Arc::clone(&kept.lines))
    }

    fn keep(&self, name: String, runs: Vec<JobId>, lines: &Arc<Vec<LeaderboardEntry>>) {
        let mut boards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if boards.len() >= MAX_BOARDS {
            boards.pop_first();
        }
        boards.insert(name, CachedBoard { runs, lines: Arc::clone(lines) });
    }
}

/// What one season contributes.
struct SeasonResults {
    season: Season,
    counted: Vec<Counted>,
}

impl SeasonResults {
    async fn of(app: &App, scenario: &ScenarioId, number: Option<u32>) -> Result<Option<Self>, ApiError> {
        let Some(season) = app.records.season(scenario, number).await? else { return Ok(None) };
        let counted = counted(&*app.records, &season, Some(app.clock.now())).await?;
        Ok(Some(Self { season, counted }))
    }

    /// Part of a cached board's name that tells open seasons from closed ones: closing publishes more of the same runs.
    fn stage(&self) -> &'static str {
        if self.season.is_closed() { "closed" } else { "open" }
    }

    fn runs(&self) -> impl Iterator<Item = JobId> {
        self.counted.iter().map(|entry| entry.run().header.job_id)
    }
}

/// The board of a scenario's season (the newest without a `number`), and which season it is.
pub(crate) async fn scenario_board(
    app: &App,
    scenario: &ScenarioId,
    number: Option<u32>,
) -> Result<(Option<u32>, Arc<Vec<LeaderboardEntry>>), ApiError> {
    let Some(contest) = SeasonResults::of(app, scenario, number).await? else { return Ok((None, Arc::default())) };
    let season = contest.season.number;
    let name = format!("scenario {scenario} {season} {}", contest.stage());
    let runs: Vec<JobId> = contest.runs().collect();
    if let Some(lines) = app.boards.kept(&name, &runs) {
        return Ok((Some(season), lines));
    }
    let entrants = entrants(&*app.records, &contest.season, &contest.counted).await?;
    let lines = blocking(move || {
        let (pins, is_open) = (&contest.season.pins, !contest.season.is_closed());
        let places = rank(&entrants, pins.idle_progress);
        let lines = contest.counted.iter().zip(places);
        sorted(
            lines.filter_map(|(entry, place)| entry_line(entry, place, f64::from(pins.max_score), is_open)).collect(),
        )
    });
    let lines = lines.await?;
    app.boards.keep(name, runs, &lines);
    Ok((Some(season), lines))
}

/// The board `name` of several scenarios: each account's mean share of the scores on the seasons' own worlds.
pub(crate) async fn together(
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
    if let Some(lines) = app.boards.kept(&name, &runs) {
        return Ok(lines);
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
    let lines = blocking(move || sorted(combined(&contests, &boards))).await?;
    app.boards.keep(name, runs, &lines);
    Ok(lines)
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
        let entry = |entry: &Counted| {
            let line = line(entry, &entry.submission, place, 1.0, is_open)?;
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

/// The line of an entry on the board of its scenario.
fn entry_line(entry: &Counted, place: Place, max_score: f64, is_open: bool) -> Option<LeaderboardEntry> {
    let line = line(entry, entry.run(), place, max_score, is_open)?;
    let season_score = match entry.worlds() {
        Worlds::Fresh => round4(max_score * round4(entry.submission.conclusion()?.0.score)),
        Worlds::Season => line.score,
    };
    Some(LeaderboardEntry { worlds: Some(entry.worlds()), season_score: Some(season_score), ..line })
}

fn line(entry: &Counted, of: &JobRecord, place: Place, max_score: f64, is_open: bool) -> Option<LeaderboardEntry> {
    let (header, (found, _)) = (&entry.submission.header, of.conclusion()?);
    let run = of.report(&[]);
    let completed_at = match of.header.kind() {
        JobKind::Submission => Grid::of(run.created_at).published(run.completed_at?),
        JobKind::Verify | JobKind::Rerun => run.completed_at?,
    };
    let (score_low, score_high) = match is_open {
        true => outward(place.score_low, place.score_high),
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

/// An interval of scores in [0, 1] in steps of which few are left to tell of single worlds.
fn outward(low: f64, high: f64) -> (f64, f64) {
    // What stands on a step but for the last bits of its sum stays there.
    const SLACK: f64 = 1e-9;
    ((low * STEPS + SLACK).floor() / STEPS, (high * STEPS - SLACK).ceil() / STEPS)
}

/// Best first; those without a rank last, and those that are level in the order in which they came.
fn sorted(mut lines: Vec<LeaderboardEntry>) -> Vec<LeaderboardEntry> {
    lines.sort_by_key(|line| (line.rank.unwrap_or(u32::MAX), line.created_at, line.account.clone()));
    lines
}

async fn blocking(
    work: impl FnOnce() -> Vec<LeaderboardEntry> + Send + 'static,
) -> Result<Arc<Vec<LeaderboardEntry>>, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map(Arc::new).map_err(|e| ApiError::internal("ranking panicked", &e))
}
