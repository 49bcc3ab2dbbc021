//! Ranks on a leaderboard, with their uncertainty.
//!
//! Entries are ordered by verdict (SAFE before INCONCLUSIVE before UNSAFE), then entries rerun on fresh worlds before
//! others, then by score: scores are compared only if they come from the same worlds. Verdicts count as they were
//! found.
//!
//! Intervals of scores are those of `score_interval`. Ranks follow from simultaneous paired intervals (after Mogstad,
//! Romano, Shaikh and Wilhelm, "csranks", with finite-sample bounds in place of asymptotic ones): an entry is certainly
//! ahead of another if it is ordered before it, and the lower bound of its lead, world by world, is above 0. With 95 %
//! confidence, all such statements about one entry are true simultaneously, so `rank_low` is 1 + the number of entries
//! certainly ahead of it, and `rank_high` excludes the entries certainly behind it. The computation is deterministic.

use std::cmp::Ordering;

use serde::Serialize;

use crate::score_interval::{ERROR, certainly_leads, score_interval};
use crate::{EpisodeScore, Verdict, round4, unsigned_zero};

/// Worlds that a result comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Worlds {
    /// Fresh worlds, on which the leading submissions were rerun when their season closed.
    Fresh,
    /// Worlds of the season, on which every submission ran.
    Season,
}

/// Entry of a leaderboard.
#[derive(Debug, Clone, PartialEq)]
pub struct Entrant {
    /// Verdict of the entry.
    pub verdict: Verdict,
    /// Score, in [0, 1].
    pub score: f64,
    /// Mean progress, in [0, 1].
    pub progress: f64,
    /// Scores of its episodes, ordered by index.
    pub episodes: Vec<EpisodeScore>,
    /// Worlds on which its episodes ran.
    pub worlds: Worlds,
}

/// Place of an entry on a leaderboard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Rank, from 1. Tied entries share a rank, and the ranks after them are skipped. `None` if the entry is no better
    /// than an idle policy.
    pub rank: Option<u32>,
    /// Best rank of the interval.
    pub rank_low: Option<u32>,
    /// Worst rank of the interval.
    pub rank_high: Option<u32>,
    /// Score, in [0, 1].
    pub score: f64,
    /// Lower end of the score's interval.
    pub score_low: f64,
    /// Upper end of the score's interval.
    pub score_high: f64,
}

/// Sort key of a leaderboard.
#[derive(Debug, Clone, Copy)]
struct RankKey {
    class: u8,
    worlds: Worlds,
    score: f64,
}

impl RankKey {
    /// Compares two keys, best first.
    fn order(&self, other: &Self) -> Ordering {
        let classes = self.class.cmp(&other.class).then(self.worlds.cmp(&other.worlds));
        classes.then(other.score.total_cmp(&self.score))
    }
}

impl Entrant {
    /// Returns whether the entry makes more progress than an idle policy.
    #[must_use]
    pub fn exceeds(&self, idle_progress: f64) -> bool {
        self.progress > idle_progress
    }

    fn key(&self) -> RankKey {
        RankKey { class: self.verdict.gravity(), worlds: self.worlds, score: round4(self.score) }
    }

    fn contributions(&self) -> Vec<f64> {
        self.episodes.iter().map(|episode| episode.contribution()).collect()
    }
}

/// Ranks the entries of one scenario, and returns their places in the same order. An entry that does not exceed
/// `idle_progress` has no rank and does not affect the other ranks.
#[must_use]
pub fn rank(entrants: &[Entrant], idle_progress: f64) -> Vec<Place> {
    let ranked: Vec<usize> = (0..entrants.len()).filter(|index| entrants[*index].exceeds(idle_progress)).collect();
    let keys: Vec<RankKey> = entrants.iter().map(Entrant::key).collect();
    let contributions: Vec<Vec<f64>> = entrants.iter().map(Entrant::contributions).collect();
    let leads = |a: usize, b: usize, error: f64| {
        if keys[a].worlds != keys[b].worlds {
            // The worlds cannot be paired. Within a class, the rule decides and not the score.
            return keys[a].class == keys[b].class;
        }
        certainly_leads(&[(&contributions[a], &contributions[b])], error)
    };
    let place = |(key, contributions): (&RankKey, &Vec<f64>)| {
        let score = key.score;
        let (score_low, score_high) = score_interval(score, &[contributions]);
        Place { rank: None, rank_low: None, rank_high: None, score, score_low, score_high }
    };
    let mut places: Vec<Place> = keys.iter().zip(&contributions).map(place).collect();
    fill_in_ranks(&mut places, &ranked, &keys, leads);
    places
}

/// Ranks members over several scenarios. `boards` holds the idle policy's progress and the entries of each scenario;
/// `members` holds, for each member, the index of its entry in each scenario. A member's score is the mean over all
/// scenarios; a scenario without an entry, or with one that is not SAFE or no better than an idle policy, counts 0.
/// Members without any other entry have no rank.
#[must_use]
pub fn rank_together(boards: &[(f64, Vec<Entrant>)], members: &[Vec<Option<usize>>]) -> Vec<Place> {
    let all = boards.iter().map(|(_, entrants)| entrants.iter().map(Entrant::contributions).collect());
    let contributions: Vec<Vec<Vec<f64>>> = all.collect();
    // Entries that count, by scenario.
    let counted = |member: &Vec<Option<usize>>| {
        let entrant = |(board, (idle_progress, entrants)): (usize, &(f64, Vec<Entrant>))| {
            let index = member.get(board).copied().flatten()?;
            let found = entrants.get(index)?;
            (found.verdict == Verdict::Safe && found.exceeds(*idle_progress)).then_some(index)
        };
        boards.iter().enumerate().map(entrant).collect::<Vec<_>>()
    };
    let counted: Vec<Vec<Option<usize>>> = members.iter().map(counted).collect();
    let of = |member: &[Option<usize>], board: usize| {
        member[board].map_or(&[][..], |index| contributions[board][index].as_slice())
    };
    let places = counted.iter().map(|member| {
        let scenarios: Vec<usize> = (0..boards.len()).filter(|board| member[*board].is_some()).collect();
        let scores =
            member.iter().zip(boards).filter_map(|(index, (_, entrants))| Some(entrants[(*index)?].key().score));
        let samples: Vec<&[f64]> = scenarios.iter().map(|board| of(member, *board)).collect();
        together(unsigned_zero(scores.sum()), &samples, boards.len())
    });
    let mut places: Vec<Place> = places.collect();
    let key = |place: &Place| RankKey { class: 0, worlds: Worlds::Season, score: place.score };
    let keys: Vec<RankKey> = places.iter().map(key).collect();
    let ranked: Vec<usize> = (0..members.len()).filter(|member| counted[*member].iter().any(Option::is_some)).collect();
    let leads = |a: usize, b: usize, error: f64| leads_together(&counted[a], &counted[b], of, error);
    fill_in_ranks(&mut places, &ranked, &keys, leads);
    places
}

/// Returns the place, without ranks, of a member whose scores in the scenarios that count have this sum.
fn together(sum: f64, samples: &[&[f64]], scenarios: usize) -> Place {
    let (count, scenarios) = (amount(samples.len()), amount(scenarios.max(1)));
    let (low, high) = if samples.is_empty() { (0.0, 0.0) } else { score_interval(sum / count, samples) };
    let share = count / scenarios;
    // The measured score lies within its own interval, also after rounding.
    let score = round4(sum / scenarios);
    let (score_low, score_high) = ((share * low).min(score), (share * high).max(score));
    Place { rank: None, rank_low: None, rank_high: None, score, score_low, score_high }
}

/// Returns whether `a` certainly leads `b` over the scenarios that count for either.
fn leads_together<'a>(
    a: &[Option<usize>],
    b: &[Option<usize>],
    contributions: impl Fn(&[Option<usize>], usize) -> &'a [f64],
    error: f64,
) -> bool {
    let scenarios: Vec<usize> = (0..a.len()).filter(|board| a[*board].is_some() || b[*board].is_some()).collect();
    let longest =
        scenarios.iter().map(|board| contributions(a, *board).len().max(contributions(b, *board).len())).max();
    // A scenario that does not count is 0 in every world.
    let nothing = vec![0.0; longest.unwrap_or(0)];
    let pair = |board: &usize| {
        let (of_a, of_b) = (contributions(a, *board), contributions(b, *board));
        match (a[*board], b[*board]) {
            (Some(_), None) => (of_a, &nothing[..of_a.len()]),
            (None, Some(_)) => (&nothing[..of_b.len()], of_b),
            _ => (of_a, of_b),
        }
    };
    certainly_leads(&scenarios.iter().map(pair).collect::<Vec<_>>(), error)
}

/// Fills in the ranks of the entries in `ranked`. `leads(a, b, error)` returns whether `a` is certainly better than
/// `b`.
fn fill_in_ranks(places: &mut [Place], ranked: &[usize], keys: &[RankKey], leads: impl Fn(usize, usize, f64) -> bool) {
    // Each entry is compared with all others in both directions, and all statements must be true simultaneously.
    let error = ERROR / (2.0 * amount(ranked.len().saturating_sub(1).max(1)));
    let mut bounds = vec![(1_u32, 0_u32, 0_u32); places.len()];
    for (position, &a) in ranked.iter().enumerate() {
        for &b in &ranked[position + 1..] {
            let (first, second) = match keys[a].order(&keys[b]) {
                Ordering::Less => (a, b),
                Ordering::Greater => (b, a),
                Ordering::Equal => continue,
            };
            bounds[second].0 += 1;
            if leads(first, second, error) {
                bounds[second].1 += 1;
                bounds[first].2 += 1;
            }
        }
    }
    let count = u32::try_from(ranked.len()).unwrap_or(u32::MAX);
    for &index in ranked {
        let (rank, ahead, behind) = bounds[index];
        let place = &mut places[index];
        (place.rank, place.rank_low, place.rank_high) = (Some(rank), Some(1 + ahead), Some(count - behind));
    }
}

#[expect(clippy::cast_precision_loss, reason = "entries and scenarios are counted in thousands")]
fn amount(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
#[path = "ranking_tests.rs"]
mod tests;
