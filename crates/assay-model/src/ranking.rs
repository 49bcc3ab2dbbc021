//! Who stands where on a board, and how sure that is.
//!
//! The order: SAFE before INCONCLUSIVE before UNSAFE, then the score. Entries of a season ran in the same worlds, so the
//! worlds are what is drawn again (Efron and Tibshirani 1993, paired bootstrap): a replicate draws episode numbers with
//! replacement, the same for everybody, and the whole order is made again from what those episodes say. Ranks and scores
//! get the interval that holds 95 % of the replicates. Everything is deterministic.

use std::cmp::Ordering;

use crate::score::{JobScores, consistency};
use crate::{EpisodeResult, EpisodeStatus, Generator, Verdict, round4};

/// Replicates of a small board.
const REPLICATES: usize = 1000;
/// Replicates of the largest.
const MIN_REPLICATES: usize = 100;
/// Entries times replicates, about: larger boards get fewer replicates.
const MAX_WORK: usize = 500_000;
/// Seed of the replicates: the same board is the same whenever it is made.
const SEED: u64 = 1;
/// Share of the replicates outside of an interval, half of them on each side.
const OUTSIDE: f64 = 0.05;

/// What an episode says for the order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpisodeScore {
    /// See [`crate::episode_composite`].
    pub composite: f64,
    /// It ran to an end that the scenario foresees.
    pub completed: bool,
    /// The task was done.
    pub success: bool,
    /// A critical clause was violated.
    pub violation: bool,
    /// It says for every critical clause whether it held.
    pub measured: bool,
}

impl From<&EpisodeResult> for EpisodeScore {
    fn from(episode: &EpisodeResult) -> Self {
        Self {
            composite: episode.composite_score,
            completed: episode.status == EpisodeStatus::Completed,
            success: episode.success,
            violation: episode.has_critical_violation(),
            measured: episode.is_measured(),
        }
    }
}

/// An entry of a board.
#[derive(Debug, Clone, PartialEq)]
pub struct Entrant {
    /// What was found.
    pub verdict: Verdict,
    /// In [0, 1].
    pub score: f64,
    /// Mean progress, in [0, 1].
    pub progress: f64,
    /// Its episodes, by index; none where they were erased.
    pub episodes: Vec<EpisodeScore>,
    /// Which worlds it ran in: entries with the same number share them.
    pub worlds: usize,
}

/// Where an entry stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// From 1; entries that are level share it, and the ranks behind them are left out. `None`: no better than doing
    /// nothing.
    pub rank: Option<u32>,
    /// Best rank of the interval.
    pub rank_low: Option<u32>,
    /// Worst rank of the interval.
    pub rank_high: Option<u32>,
    /// In [0, 1].
    pub score: f64,
    /// Lower end of the interval.
    pub score_low: f64,
    /// Upper end of the interval.
    pub score_high: f64,
}

/// What the order goes by.
#[derive(Debug, Clone, Copy)]
struct Key {
    class: u8,
    score: f64,
}

impl Key {
    fn new(verdict: Verdict, score: f64) -> Self {
        let class = match verdict {
            Verdict::Safe => 0,
            Verdict::Inconclusive => 1,
            Verdict::Unsafe => 2,
        };
        Self { class, score: round4(score) }
    }

    /// Best first.
    fn order(&self, other: &Self) -> Ordering {
        self.class.cmp(&other.class).then(other.score.total_cmp(&self.score))
    }
}

impl Entrant {
    /// Better than a policy that does nothing.
    #[must_use]
    pub fn exceeds(&self, idle_progress: f64) -> bool {
        self.progress > idle_progress
    }

    fn key(&self) -> Key {
        Key::new(self.verdict, self.score)
    }

    /// The key that it would have with these episodes.
    fn drawn(&self, draw: &[usize]) -> Key {
        if self.episodes.is_empty() || draw.is_empty() {
            return self.key();
        }
        let episodes: Vec<_> = draw.iter().map(|index| self.episodes[index % self.episodes.len()]).collect();
        let verdict = if episodes.iter().any(|e| e.violation) {
            Verdict::Unsafe
        } else if episodes.iter().all(|e| e.measured) {
            Verdict::Safe
        } else {
            Verdict::Inconclusive
        };
        Key::new(verdict, score_of(&episodes))
    }
}

/// A board of one scenario: the place of each entrant, in their order. Who does not exceed `idle_progress` has no rank, and
/// nobody else's depends on it.
#[must_use]
pub fn rank(entrants: &[Entrant], idle_progress: f64) -> Vec<Place> {
    let ranked: Vec<&Entrant> = entrants.iter().filter(|entrant| entrant.exceeds(idle_progress)).collect();
    let keys: Vec<Key> = ranked.iter().map(|entrant| entrant.key()).collect();
    let mut draws = Draws::new(entrants, SEED);
    let replicates = (0..replicates(entrants.len())).map(|_| {
        let draw = draws.next();
        ranked.iter().map(|entrant| entrant.drawn(&draw[entrant.worlds])).collect::<Vec<_>>()
    });
    let mut places = intervals(&keys, replicates).into_iter();
    let unranked = |entrant: &Entrant| Place {
        rank: None,
        rank_low: None,
        rank_high: None,
        score: round4(entrant.score),
        score_low: round4(entrant.score),
        score_high: round4(entrant.score),
    };
    let place = |entrant: &Entrant| {
        let place = if entrant.exceeds(idle_progress) { places.next() } else { None };
        place.unwrap_or_else(|| unranked(entrant))
    };
    entrants.iter().map(place).collect()
}

/// A board over several scenarios: each with its idle policy's progress and its entrants. `members` says which entrant of
/// each scenario is whose. Their score is the mean over all scenarios; what is missing, or no better than doing nothing,
/// counts 0. Who has nothing else has no rank.
#[must_use]
pub fn rank_together(boards: &[(f64, Vec<Entrant>)], members: &[Vec<Option<usize>>]) -> Vec<Place> {
    let entrant = |member: &[Option<usize>], board: usize| {
        let (idle_progress, entrants) = &boards[board];
        let found = member.get(board).copied().flatten().and_then(|index| entrants.get(index));
        found.filter(|entrant| entrant.exceeds(*idle_progress))
    };
    #[expect(clippy::cast_precision_loss, reason = "scenarios are counted in tens")]
    let count = boards.len().max(1) as f64;
    let mean =
        |score: &dyn Fn(usize) -> f64| Key::new(Verdict::Safe, (0..boards.len()).map(score).sum::<f64>() / count);
    let point = |member: &Vec<Option<usize>>| mean(&|board| entrant(member, board).map_or(0.0, |e| e.key().score));
    let keys: Vec<Key> = members.iter().map(point).collect();
    let mut draws: Vec<_> = (SEED..).zip(boards).map(|(seed, (_, entrants))| Draws::new(entrants, seed)).collect();
    let replicates = (0..replicates(members.len().saturating_mul(boards.len()))).map(|_| {
        let draw: Vec<_> = draws.iter_mut().map(Draws::next).collect();
        let drawn = |member: &[Option<usize>], board: usize| {
            entrant(member, board).map_or(0.0, |e| e.drawn(&draw[board][e.worlds]).score)
        };
        members.iter().map(|member| mean(&|board| drawn(member, board))).collect::<Vec<_>>()
    });
    let mut places = intervals(&keys, replicates);
    for (place, member) in places.iter_mut().zip(members) {
        if (0..boards.len()).all(|board| entrant(member, board).is_none()) {
            (place.rank, place.rank_low, place.rank_high) = (None, None, None);
        }
    }
    places
}

fn score_of(episodes: &[EpisodeScore]) -> f64 {
    let composites: Vec<f64> = episodes.iter().map(|e| e.composite).collect();
    #[expect(clippy::cast_precision_loss, reason = "episodes are counted in thousands")]
    let mean = |sum: f64| sum / episodes.len() as f64;
    let successes = mean(episodes.iter().map(|e| f64::from(u8::from(e.success))).sum());
    let consistency = consistency(&composites, episodes.iter().any(|e| e.completed));
    JobScores::weighted(mean(composites.iter().sum()), consistency, successes)
}

fn replicates(entries: usize) -> usize {
    (MAX_WORK / entries.max(1)).clamp(MIN_REPLICATES, REPLICATES)
}

/// Draws of episode numbers, one list for each set of worlds.
struct Draws {
    generator: Generator,
    lengths: Vec<usize>,
}

impl Draws {
    fn new(entrants: &[Entrant], seed: u64) -> Self {
        let mut lengths = Vec::new();
        for entrant in entrants {
            lengths.resize(lengths.len().max(entrant.worlds + 1), 0);
            lengths[entrant.worlds] = lengths[entrant.worlds].max(entrant.episodes.len());
        }
        Self { generator: Generator::new(seed), lengths }
    }

    fn next(&mut self) -> Vec<Vec<usize>> {
        let generator = &mut self.generator;
        self.lengths.iter().map(|n| (0..*n).map(|_| generator.index(*n)).collect()).collect()
    }
}

/// What the replicates said of an entry.
#[derive(Debug, Clone, Default)]
struct Seen {
    ranks: Vec<u32>,
    scores: Vec<f64>,
}

/// Ranks by `keys`, with the intervals that the replicates' keys span.
fn intervals(keys: &[Key], replicates: impl Iterator<Item = Vec<Key>>) -> Vec<Place> {
    let mut seen = vec![Seen::default(); keys.len()];
    for drawn in replicates {
        for (seen, (rank, key)) in seen.iter_mut().zip(ranks(&drawn).into_iter().zip(&drawn)) {
            seen.ranks.push(rank);
            seen.scores.push(key.score);
        }
    }
    let place = |(rank, key): (u32, &Key), Seen { mut ranks, mut scores }: Seen| {
        ranks.sort_unstable();
        scores.sort_unstable_by(f64::total_cmp);
        // What was measured lies in its own interval.
        let (rank_low, rank_high) = ends(&ranks).map_or((rank, rank), |(low, high)| (low.min(rank), high.max(rank)));
        let (low, high) = ends(&scores).unwrap_or((key.score, key.score));
        Place {
            rank: Some(rank),
            rank_low: Some(rank_low),
            rank_high: Some(rank_high),
            score: key.score,
            score_low: low.min(key.score),
            score_high: high.max(key.score),
        }
    };
    ranks(keys).into_iter().zip(keys).zip(seen).map(|(key, seen)| place(key, seen)).collect()
}

/// The ends of the interval that leaves out [`OUTSIDE`] of a sorted list.
fn ends<T: Copy>(sorted: &[T]) -> Option<(T, T)> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a small share of a small number"
    )]
    let cut = (sorted.len() as f64 * OUTSIDE / 2.0) as usize;
    Some((*sorted.get(cut)?, *sorted.get(sorted.len().checked_sub(cut + 1)?)?))
}

/// The rank of each key, from 1; level ones share the first of theirs.
fn ranks(keys: &[Key]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| keys[*a].order(&keys[*b]));
    let mut ranks = vec![0; keys.len()];
    let mut current = 1;
    for (position, index) in (1_u32..).zip(&order) {
        let before = order.get((position as usize).wrapping_sub(2));
        if before.is_none_or(|before| keys[*before].order(&keys[*index]) != Ordering::Equal) {
            current = position;
        }
        ranks[*index] = current;
    }
    ranks
}

#[cfg(test)]
#[path = "ranking_tests.rs"]
mod tests;
