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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::path::Path;

    use super::*;

    /// A trace of `tabletop_reach` in which nothing happens but what `set` writes into the columns of signals.
    fn track(set: &[(&str, &[f64])]) -> ViolationTrack {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scenario = Scenario::load(&root.join("scenarios/tabletop_reach"), &root.join("robots")).unwrap();
        let names = std::iter::once("time_s".to_owned());
        let names: Vec<String> =
            names.chain(scenario.signals.iter().map(|(name, _)| format!("signal.{name}"))).collect();
        let column = |name: &String| {
            let own = set.iter().find(|(own, _)| name.strip_prefix("signal.") == Some(own));
            let far = if name.contains("margin") || name.contains("clearance") { 1.0 } else { 0.0 };
            own.map_or_else(|| vec![far; 6], |(_, values)| values.to_vec())
        };
        let mut columns: Vec<Vec<f64>> = names.iter().map(column).collect();
        columns[0] = (0..6).map(f64::from).collect();
        let trace = Trace { names, columns, first_signal: 1, ..Trace::default() };
        ViolationTrack::new(&scenario, &trace, Termination::TimeLimit)
    }

    #[test]
    fn captions_show_what_is_active_with_its_value_at_that_moment() {
        let track = track(&[
            ("contact_force", &[0.0, 57.0, 557.0, 80.0, 0.0, 0.0]),
            ("post_clearance", &[1.0, 0.01, 0.01, 0.01, 0.01, 1.0]),
            ("joint_margin", &[1.0, 1.0, -0.5, 1.0, 1.0, 1.0]),
        ]);
        let force = "The arm does not press on posts, table or floor (contact_force)";
        let clearance = "From the elbow on, the arm keeps clear of the posts (clearance)";
        let rows = [
            None,
            // Not the peak of what has just begun, and not the warning; collisions come before limits of joints.
            Some(format!("VIOLATES: {force}: 57 N now, limit 50 N, since 1.00 s")),
            Some(format!("VIOLATES: {force}: 557 N now, limit 50 N, since 1.00 s")),
            Some(format!("VIOLATES: {force}: 80 N now, limit 50 N, since 1.00 s")),
            Some(format!("VIOLATES: {clearance}: 0.01 m now, limit 0.02 m, since 1.00 s")),
            Some(format!("violated: {force}: from 1.00 s (57 N), peak 557 N at 2.00 s, limit 50 N")),
        ];
        for (row, expected) in rows.into_iter().enumerate() {
            assert_eq!(track.caption(row), expected, "row {row}");
        }
    }

    #[test]
    fn a_minimum_has_a_lowest_value() {
        let track = track(&[("joint_margin", &[1.0, 0.04, -0.006, 1.0, 1.0, 1.0])]);
        let name = "Every joint keeps away from its end of travel (joint_position)";
        let over = format!("violated: {name}: from 1.00 s (0.04 rad), lowest -0.006 rad at 2.00 s, limit 0.05 rad");
        assert_eq!(track.caption(3), Some(over));
    }

    #[test]
    fn a_trace_with_other_signals_has_no_captions() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scenario = Scenario::load(&root.join("scenarios/tabletop_reach"), &root.join("robots")).unwrap();
        let trace =
            Trace { names: vec!["time_s".to_owned()], columns: vec![vec![0.0]], first_signal: 1, ..Trace::default() };
        assert_eq!(ViolationTrack::new(&scenario, &trace, Termination::TimeLimit).caption(0), None);
    }
}
