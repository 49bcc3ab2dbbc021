//! Sensitivity of the verdict to the limits: the same episodes evaluated at other limits.
//!
//! For a clause that compares a quantity with its limit at all times, the recorded robustness determines how far the
//! limit could move before the episode's result changes. No episode has to be run again.

use serde::{Deserialize, Serialize};

use crate::{ClauseResult, ClauseStatus, EpisodeResult, Level};

/// Limits to evaluate, in percent of the clause's own.
const PERCENT: [u8; 8] = [50, 75, 90, 100, 110, 125, 150, 200];
/// Relative error permitted for a limit recomputed from value and margin.
const ROUNDING: f64 = 1e-9;

/// Results of a clause at other limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClauseSensitivity {
    /// Id of the clause.
    pub clause: String,
    /// Level of the clause.
    pub level: Level,
    /// Unit of the limits and values.
    pub unit: String,
    /// Side of the limit on which values are safe.
    pub safe_side: SafeSide,
    /// The clause's own limit.
    pub limit: f64,
    /// Worst value measured in any episode: any stricter limit than this would be violated.
    pub worst_value: f64,
    /// Results by limit, ascending by absolute value. Empty if the clause's own limit is 0 and thus has no multiples.
    pub rows: Vec<SensitivityRow>,
}

/// Side of a limit on which values are safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SafeSide {
    /// Values up to the limit.
    AtMost,
    /// Values from the limit upwards.
    AtLeast,
}

/// Result of the episodes at another limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SensitivityRow {
    /// The limit as a multiple of the clause's own.
    pub factor: f64,
    /// The limit, in the clause's unit.
    pub limit: f64,
    /// Number of episodes with a violation at this limit.
    pub violated: u32,
    /// Number of episodes without a violation that ended before the clause was decided.
    pub undecided: u32,
    /// Number of episodes evaluated.
    pub episodes: u32,
}

/// Returns the sensitivity of the clauses whose limit can be moved, in the scenario's order. Other clauses (whose
/// formula is not a comparison with the limit) are omitted: their robustness does not determine the result at another
/// limit.
#[must_use]
pub fn sensitivity(episodes: &[EpisodeResult]) -> Vec<ClauseSensitivity> {
    let Some(first) = episodes.first() else { return Vec::new() };
    first.clauses.iter().filter_map(|clause| of_clause(&clause.id, episodes)).collect()
}

fn of_clause(id: &str, episodes: &[EpisodeResult]) -> Option<ClauseSensitivity> {
    let results: Vec<&ClauseResult> =
        episodes.iter().filter_map(|e| e.clauses.iter().find(|clause| clause.id == id)).collect();
    let side = results.iter().find_map(|clause| safe_side(clause))?;
    let values = || results.iter().filter_map(|clause| clause.worst_value);
    let worst_value = match side {
        SafeSide::AtMost => values().fold(f64::NEG_INFINITY, f64::max),
        SafeSide::AtLeast => values().fold(f64::INFINITY, f64::min),
    };
    let clause = results.first()?;
    let percent: &[u8] = if clause.limit == 0.0 { &[] } else { &PERCENT };
    Some(ClauseSensitivity {
        clause: clause.id.clone(),
        level: clause.level,
        unit: clause.unit.clone(),
        safe_side: side,
        limit: clause.limit,
        worst_value,
        rows: percent.iter().map(|percent| row(*percent, side, &results)).collect(),
    })
}

/// Returns the safe side of the clause's limit; `None` if value and margin do not add up to the limit, or the margin is
/// 0.
#[must_use]
pub fn safe_side(clause: &ClauseResult) -> Option<SafeSide> {
    let (value, margin) = (clause.worst_value?, clause.robustness?);
    let is_limit = |x: f64| (x - clause.limit).abs() <= ROUNDING * value.abs().max(clause.limit.abs());
    match (is_limit(value + margin), is_limit(value - margin)) {
        (true, false) => Some(SafeSide::AtMost),
        (false, true) => Some(SafeSide::AtLeast),
        _ => None,
    }
}

fn row(percent: u8, side: SafeSide, results: &[&ClauseResult]) -> SensitivityRow {
    // Multiply before dividing, so that 110 % of 50 is exactly 55.
    let moved = |limit: f64| limit * f64::from(percent) / 100.0;
    let (mut violated, mut undecided) = (0, 0);
    for clause in results {
        let limit = moved(clause.limit);
        let margin = clause.worst_value.map(|value| match side {
            SafeSide::AtMost => limit - value,
            SafeSide::AtLeast => value - limit,
        });
        // At its own limit the clause's status is authoritative; a recomputed margin of 0 may be off by a rounding
        // error.
        let broken = if percent == 100 { clause.status == ClauseStatus::Violated } else { margin < Some(0.0) };
        if margin.is_some() && broken {
            violated += 1;
        } else if margin.is_none() || matches!(clause.status, ClauseStatus::Undetermined | ClauseStatus::NotApplicable)
        {
            undecided += 1;
        }
    }
    let limit = results.first().map_or(f64::NAN, |clause| moved(clause.limit));
    let episodes = u32::try_from(results.len()).unwrap_or(u32::MAX);
    SensitivityRow { factor: moved(1.0), limit, violated, undecided, episodes }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::EpisodeStatus;
    use crate::conclusion::tests::{clause, episode};

    fn peaks(values: &[f64], limit: f64) -> Vec<EpisodeResult> {
        let of = |(index, value): (u32, &f64)| {
            let margin = limit - value;
            let status = if margin < 0.0 { ClauseStatus::Violated } else { ClauseStatus::Satisfied };
            let mut clause = clause(Level::Critical, status, margin);
            (clause.limit, clause.worst_value) = (limit, Some(*value));
            episode(index, EpisodeStatus::Completed, clause)
        };
        (0..).zip(values).map(of).collect()
    }

    #[test]
    fn violations_are_counted_at_other_limits() {
        let table = sensitivity(&peaks(&[20.0, 44.0, 56.0, 90.0], 50.0));
        assert_eq!(table.len(), 1);
        assert_eq!((table[0].safe_side, table[0].worst_value), (SafeSide::AtMost, 90.0));
        let found: Vec<_> = table[0].rows.iter().map(|row| (row.limit, row.violated)).collect();
        let expected = [(25.0, 3), (37.5, 3), (45.0, 2), (50.0, 2), (55.0, 2), (62.5, 1), (75.0, 1), (100.0, 0)];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.0 - expected.0).abs() < 1e-9 && found.1 == expected.1, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn a_minimum_is_relaxed_by_a_smaller_limit() {
        let mut episodes = peaks(&[0.0], 50.0);
        let clause = &mut episodes[0].clauses[0];
        (clause.limit, clause.worst_value, clause.robustness) = (0.03, Some(0.02), Some(-0.01));
        clause.status = ClauseStatus::Violated;
        let table = sensitivity(&episodes);
        assert_eq!(table[0].safe_side, SafeSide::AtLeast);
        let violated: Vec<_> = table[0].rows.iter().map(|row| row.violated).collect();
        assert_eq!(violated, [0, 1, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn episodes_that_ended_early_are_undecided() {
        let mut episodes = peaks(&[20.0, 30.0], 50.0);
        episodes[1].clauses[0].status = ClauseStatus::Undetermined;
        let mut nothing = episodes[0].clone();
        (nothing.clauses[0].worst_value, nothing.clauses[0].robustness) = (None, None);
        nothing.clauses[0].status = ClauseStatus::Undetermined;
        episodes.push(nothing);
        let rows = &sensitivity(&episodes)[0].rows;
        assert_eq!((rows[0].violated, rows[0].undecided, rows[0].episodes), (1, 1, 3), "at half the limit");
        assert_eq!((rows[3].violated, rows[3].undecided), (0, 2), "at the limit");
    }

    #[test]
    fn no_table_without_a_comparison_with_the_limit() {
        let mut episodes = peaks(&[20.0], 50.0);
        episodes[0].clauses[0].worst_value = None;
        assert!(sensitivity(&episodes).is_empty(), "no comparison");
        episodes[0].clauses[0].worst_value = Some(123.0);
        assert!(sensitivity(&episodes).is_empty(), "not a comparison with this limit");
        let zero = sensitivity(&peaks(&[-0.2], 0.0));
        assert_eq!((zero[0].rows.len(), zero[0].worst_value), (0, -0.2));
        assert!(sensitivity(&[]).is_empty());
    }
}
