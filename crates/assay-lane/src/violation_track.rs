//! The violations of an episode over time, for captions: the one that is active now with its value at that moment,
//! otherwise the worst so far.

use assay_model::{Gravity, Termination, seconds, with_unit};
use assay_scenario::{Clause, Scenario};
use assay_stl::{TraceEnd, ViolationSpan};

use crate::Trace;

/// The violations of an episode.
#[derive(Debug)]
pub(crate) struct ViolationTrack {
    time_s: Vec<f64>,
    clauses: Vec<ViolatedClause>,
}

/// A clause with at least one violation.
#[derive(Debug)]
struct ViolatedClause {
    clause: Clause,
    spans: Vec<ViolationSpan>,
    /// Margin in each row of the trace.
    margins: Vec<f64>,
}

/// A violation as seen in one row of the trace.
#[derive(Clone, Copy)]
struct Sighting<'a> {
    of: &'a ViolatedClause,
    span: &'a ViolationSpan,
    /// Margin by which it is ordered: that of now, or that of the peak once it is over.
    margin: f64,
}

impl Sighting<'_> {
    fn gravity(&self) -> Gravity {
        let clause = &self.of.clause;
        Gravity::new(clause.level, Some(clause.harm), Some(self.margin / clause.scale))
    }
}

impl ViolationTrack {
    /// Finds the violations in the trace of an episode that ended in this way; none in one with other signals than the
    /// scenario's.
    pub(crate) fn new(scenario: &Scenario, trace: &Trace, termination: Termination) -> Self {
        let is_complete = matches!(termination, Termination::Success | Termination::TimeLimit);
        let end = if is_complete { TraceEnd::Complete } else { TraceEnd::Cut };
        let expected = scenario.signals.iter().map(|(name, _)| format!("signal.{name}"));
        let is_own = trace.names.get(trace.first_signal..).is_some_and(|names| expected.eq(names.iter().cloned()));
        if !is_own || trace.columns.is_empty() {
            return Self { time_s: Vec::new(), clauses: Vec::new() };
        }
        let columns = trace.signals();
        let violated = |clause: &Clause| {
            let spans = clause.bound.violations_at(&columns, end);
            let margins = || clause.bound.pointwise_at(&columns, end);
            (!spans.is_empty()).then(|| ViolatedClause { clause: clause.clone(), margins: margins(), spans })
        };
        let clauses = scenario.clauses.iter().filter_map(violated).collect();
        Self { time_s: columns[0].to_vec(), clauses }
    }

    /// Returns the caption for a row of the trace; `None` before the first violation.
    pub(crate) fn caption(&self, row: usize) -> Option<String> {
        let gravest = |sightings: &mut dyn Iterator<Item = Sighting<'_>>| {
            sightings.min_by(|a, b| a.gravity().compare(&b.gravity())).map(|found| self.describe(&found, row))
        };
        let of_all = || self.clauses.iter().flat_map(|of| of.spans.iter().map(move |span| (of, span)));
        let mut active = of_all().filter(|(_, span)| span.first <= row && row <= span.last).map(|(of, span)| {
            Sighting { of, span, margin: of.margins.get(row).copied().unwrap_or(span.robustness).min(0.0) }
        });
        let mut over = of_all().filter(|(_, span)| span.last < row).map(|(of, span)| Sighting {
            of,
            span,
            margin: span.robustness,
        });
        gravest(&mut active).or_else(|| gravest(&mut over))
    }

    fn describe(&self, sighting: &Sighting<'_>, row: usize) -> String {
        let Sighting { of: ViolatedClause { clause, margins, .. }, span, .. } = sighting;
        let with_unit = |x: f64| with_unit(x, &clause.unit);
        let measured = |margin: f64| clause.formula.measured_value(margin).map(with_unit);
        let at = |row: usize| seconds(self.time_s.get(row).copied().unwrap_or_default());
        let (name, limit) = (format!("{} ({})", clause.title, clause.id), with_unit(clause.limit));
        let onset = at(span.first);
        if row <= span.last {
            let now = margins.get(row).and_then(|margin| measured(*margin));
            let now = now.map(|value| format!("{value} now, ")).unwrap_or_default();
            return format!("VIOLATES: {name}: {now}limit {limit}, since {onset}");
        }
        let started = margins.get(span.first).and_then(|margin| measured(*margin));
        let started = started.map(|value| format!(" ({value})")).unwrap_or_default();
        let peak =
            measured(span.robustness).unwrap_or_else(|| format!("{} beyond the limit", with_unit(-span.robustness)));
        let word = if clause.formula.measured_value(span.robustness).is_some_and(|value| value < clause.limit) {
            "lowest"
        } else {
            "peak"
        };
        format!("violated: {name}: from {onset}{started}, {word} {peak} at {}, limit {limit}", at(span.worst))
    }
}
