//! Margins of all clauses as bars against their limits, worst first.

use super::display::{clean, tone_of};
use super::gravest::share;
use crate::{ClauseSummary, words};

/// Half the width of a bar's drawing: the limit is in the middle.
const HALF: f64 = 100.0;
/// Smallest width of a bar, so that a margin of zero is visible.
const LEAST_WIDTH: f64 = 1.0;

/// Bar of a clause.
pub(super) struct MarginBar {
    pub(super) clause: String,
    pub(super) title: Option<String>,
    pub(super) level: &'static str,
    pub(super) tone: &'static str,
    pub(super) status: String,
    pub(super) limit: String,
    pub(super) value: String,
    /// Margin in the clause's unit, and as a share of its scale.
    pub(super) margin: String,
    pub(super) share: String,
    pub(super) when: String,
    pub(super) standard: String,
    /// Index of the episode with the smallest margin.
    pub(super) episode: Option<u32>,
    /// Left edge and width in the drawing; width 0 without a margin.
    pub(super) x: f64,
    pub(super) width: f64,
}

impl MarginBar {
    /// Returns the bars of all clauses: the smallest share of the scale first, clauses without a margin after the
    /// violated ones.
    pub(super) fn all(summaries: &[ClauseSummary<'_>]) -> Vec<Self> {
        let mut sorted: Vec<_> = summaries.iter().map(|summary| (key(summary), summary)).collect();
        sorted.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        sorted.into_iter().map(|(_, summary)| Self::of(summary)).collect()
    }

    fn of(summary: &ClauseSummary<'_>) -> Self {
        let (clause, worst) = (summary.clause, summary.worst);
        let unit = clean(&clause.unit);
        let or_nothing = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let part = worst.map(|worst| worst.robustness / clause.size());
        let shown = part.map_or(0.0, |part| HALF * part.clamp(-1.0, 1.0));
        let width = if part.is_some() { shown.abs().max(LEAST_WIDTH) } else { 0.0 };
        Self {
            clause: clean(&clause.id),
            title: clause.title.as_deref().map(clean),
            level: clause.level.as_str(),
            tone: tone_of(clause.level, summary.status()),
            status: summary.status_words(),
            limit: words::with_unit(clause.limit, &unit),
            value: or_nothing(worst.and_then(|w| w.value).map(|v| words::with_unit(v, &unit))),
            margin: or_nothing(worst.map(|w| words::signed(w.robustness))),
            share: or_nothing(part.map(share)),
            when: or_nothing(worst.and_then(|w| w.time_s).map(words::seconds)),
            standard: clean(&clause.standard),
            episode: worst.map(|w| w.episode),
            x: if shown < 0.0 { HALF - width } else { HALF },
            width,
        }
    }
}

fn key(summary: &ClauseSummary<'_>) -> f64 {
    summary.worst.map_or(0.0, |worst| worst.robustness / summary.clause.size())
}
