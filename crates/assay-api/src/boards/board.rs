//! The boards of a season, and of several scenarios.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_model::{AccountId, Entrant, JobId, Place, ScenarioId, rank, rank_together, round4};
use assay_store::{Season, SeasonEntry, entrants, season_entrants, season_entries};

use super::entry::{LeaderboardEntry, entry_line, leaderboard_entry, sort_entries};
use crate::http::ApiError;
use crate::state::App;

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

async fn spawn_ranking(
    work: impl FnOnce() -> Vec<LeaderboardEntry> + Send + 'static,
) -> Result<Arc<Vec<LeaderboardEntry>>, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map(Arc::new).map_err(|e| ApiError::internal("ranking panicked", &e))
}
