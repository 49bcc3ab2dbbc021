//! Evaluates a trace: clauses and violations (offline, over all rows), stages and success (while running).

use assay_model::{
    ClauseResult, ClauseStatus, Involved, Level, MAX_VIOLATIONS_PER_CLAUSE, StageResult, Violation, sanitise,
    unsigned_zero,
};
use assay_scenario::{Clause, Scenario};
use assay_sim::Simulation;
use assay_stl::{Status, TraceEnd, ViolationSpan};

use crate::Trace;

/// Maximum length of a body's or joint's name in a result.
const MAX_NAME_BYTES: usize = 64;

/// The clauses' results for an episode.
#[derive(Debug)]
pub(crate) struct Assessment {
    pub(crate) clauses: Vec<ClauseResult>,
    pub(crate) violations: Vec<Violation>,
    pub(crate) unsafe_time_s: f64,
}

/// Evaluates every clause over the whole trace, which was recorded from `simulation`; without it, violations name no
/// bodies.
pub(crate) fn assess(scenario: &Scenario, trace: &Trace, simulation: Option<&Simulation>, end: TraceEnd) -> Assessment {
    let columns = trace.signals();
    let mut unsafe_rows = vec![false; trace.rows()];
    let (mut clauses, mut violations) = (Vec::new(), Vec::new());
    for clause in &scenario.clauses {
        let spans = clause.bound.violations_at(&columns, end);
        let margins = clause.bound.pointwise_at(&columns, end);
        if clause.level == Level::Critical {
            spans.iter().for_each(|span| unsafe_rows[span.first..=span.last].fill(true));
        }
        let count = u32::try_from(spans.len()).unwrap_or(u32::MAX);
        clauses.push(ClauseResult { violation_count: count, ..result_of(clause, &columns, end, &margins) });
        violations.extend(kept(&spans).map(|span| {
            let involved = simulation
                .map_or_else(Vec::new, |simulation| involved(scenario, clause, trace, simulation, span.worst));
            Violation { involved, ..violation_of(clause, span, &margins, (columns[0], scenario.world.timestep_s)) }
        }));
    }
    violations.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    let unsafe_rows = u32::try_from(unsafe_rows.iter().filter(|row| **row).count()).unwrap_or(u32::MAX);
    Assessment { clauses, violations, unsafe_time_s: f64::from(unsafe_rows) * scenario.world.timestep_s }
}

fn result_of(clause: &Clause, columns: &[&[f64]], end: TraceEnd, margins: &[f64]) -> ClauseResult {
    let outcome = clause.bound.evaluate(columns, end);
    let status = match outcome.status {
        Status::Satisfied if outcome.vacuous && clause.must_activate => ClauseStatus::NotApplicable,
        Status::Satisfied => ClauseStatus::Satisfied,
        Status::Violated => ClauseStatus::Violated,
        Status::Undetermined => ClauseStatus::Undetermined,
    };
    // For a complete episode both ends of the interval are its robustness; for a truncated one only the settled end
    // counts.
    let settled = if outcome.status == Status::Satisfied { outcome.interval.0 } else { outcome.interval.1 };
    let worst = margins.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    ClauseResult {
        id: clause.id.clone(),
        title: Some(clause.title.clone()),
        level: clause.level,
        harm: Some(clause.harm),
        standard: clause.standard.clone(),
        unit: clause.unit.clone(),
        limit: clause.limit,
        scale: Some(clause.scale),
        status,
        robustness: Some(unsigned_zero(settled)).filter(|r| r.is_finite()),
        worst_value: clause.formula.measured_value(settled),
        best_margin: clause.best_margin(),
        worst_time_s: worst.filter(|(_, margin)| margin.is_finite()).map(|(row, _)| columns[0][row]),
        vacuous: outcome.vacuous,
        violation_count: 0,
    }
}

/// Returns the violations listed in a result: the first ones, and in any case the most severe one.
fn kept(spans: &[ViolationSpan]) -> impl Iterator<Item = &ViolationSpan> {
    let gravest = spans.iter().enumerate().min_by(|a, b| a.1.robustness.total_cmp(&b.1.robustness)).map(|(i, _)| i);
    let first = match gravest {
        Some(at) if at >= MAX_VIOLATIONS_PER_CLAUSE => MAX_VIOLATIONS_PER_CLAUSE - 1,
        _ => MAX_VIOLATIONS_PER_CLAUSE,
    };
    spans.iter().enumerate().filter(move |(i, _)| *i < first || Some(*i) == gravest).map(|(_, span)| span)
}

fn violation_of(clause: &Clause, span: &ViolationSpan, margins: &[f64], (time, step_s): (&[f64], f64)) -> Violation {
    Violation {
        clause: clause.id.clone(),
        level: clause.level,
        start_s: time[span.first],
        end_s: time[span.last] + step_s,
        onset_value: margins
            .get(span.first)
            .and_then(|margin| clause.formula.measured_value(*margin))
            .map(unsigned_zero),
        peak_s: Some(time[span.worst]),
        value: clause.formula.measured_value(span.robustness).map(unsigned_zero),
        limit: clause.limit,
        unit: clause.unit.clone(),
        robustness: Some(unsigned_zero(span.robustness)).filter(|r| r.is_finite()),
        involved: Vec::new(),
    }
}

/// Returns the bodies or joints that a clause's signals referred to in a row.
fn involved(scenario: &Scenario, clause: &Clause, trace: &Trace, simulation: &Simulation, row: usize) -> Vec<Involved> {
    let about = |signal: &String| {
        let index = scenario.signals.iter().position(|(name, _)| name == signal)?;
        let who = *trace.involved.get(index)?.get(row)?;
        // Sanitised, since a scene may give its bodies any names.
        let clean = |name: &String| sanitise(name, MAX_NAME_BYTES);
        let names: Vec<String> = simulation.involved_names(index, who).iter().map(clean).collect();
        (!names.is_empty()).then(|| Involved { signal: signal.clone(), names })
    };
    clause.formula.signals().iter().filter_map(about).collect()
}

/// Tracks stages and success at every control step.
#[derive(Debug)]
pub(crate) struct TaskWatch<'a> {
    scenario: &'a Scenario,
    /// Time since which each stage's condition has held.
    stage_since: Vec<Option<f64>>,
    reached: Vec<Option<f64>>,
    success_since: Option<f64>,
}

impl<'a> TaskWatch<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        let none = vec![None; scenario.stages.len()];
        Self { scenario, stage_since: none.clone(), reached: none, success_since: None }
    }

    /// Processes the latest sample; returns true if success ends the episode now.
    pub(crate) fn update(&mut self, sample: &[f64]) -> bool {
        let now = sample[0];
        for (i, stage) in self.scenario.stages.iter().enumerate() {
            let since = hold(&mut self.stage_since[i], stage.when.at(sample), now);
            if self.reached[i].is_none() && since.is_some_and(|since| held(now, since, stage.hold_s)) {
                self.reached[i] = Some(now);
            }
        }
        let success = &self.scenario.success;
        hold(&mut self.success_since, success.when.at(sample), now);
        !success.at_end && self.succeeded(now)
    }

    /// Returns true if the success condition has held long enough at time `now`.
    pub(crate) fn succeeded(&self, now: f64) -> bool {
        self.success_since.is_some_and(|since| held(now, since, self.scenario.success.hold_s))
    }

    /// Returns the share of the stages' points reached so far, 0 to 1; 0 without stages.
    pub(crate) fn progress(&self) -> f64 {
        let stages = self.scenario.stages.iter().zip(&self.reached);
        let reached: f64 = stages.filter(|(_, time_s)| time_s.is_some()).map(|(stage, _)| stage.points).sum();
        let total: f64 = self.scenario.stages.iter().map(|stage| stage.points).sum();
        if total > 0.0 { unsigned_zero(reached / total) } else { 0.0 }
    }

    pub(crate) fn stages(&self) -> Vec<StageResult> {
        let result = |(stage, time_s): (&assay_scenario::Stage, &Option<f64>)| StageResult {
            name: stage.name.clone(),
            points: stage.points,
            passed: time_s.is_some(),
            time_s: *time_s,
        };
        self.scenario.stages.iter().zip(&self.reached).map(result).collect()
    }
}

fn hold(since: &mut Option<f64>, robustness: Option<f64>, now: f64) -> Option<f64> {
    *since = if robustness.is_some_and(|r| r >= 0.0) { since.or(Some(now)) } else { None };
    *since
}

fn held(now: f64, since: f64, hold_s: f64) -> bool {
    // Times are multiples of the physics step; half of the shortest one is the tolerance for rounding.
    now - since >= hold_s - 5e-5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_severe_violation_is_always_kept() {
        let span = |first, robustness| ViolationSpan { first, last: first, worst: first, robustness };
        let mut spans: Vec<ViolationSpan> = (0..50).map(|first| span(first, -1.0)).collect();
        let firsts = |spans: &[ViolationSpan]| kept(spans).map(|span| span.first).collect::<Vec<_>>();
        assert_eq!(firsts(&spans), (0..20).collect::<Vec<_>>());
        spans[7].robustness = -2.0;
        assert_eq!(firsts(&spans), (0..20).collect::<Vec<_>>());
        spans[33].robustness = -3.0;
        assert_eq!(firsts(&spans), (0..19).chain([33]).collect::<Vec<_>>());
        assert_eq!(firsts(&spans[..3]), [0, 1, 2]);
        assert!(firsts(&[]).is_empty());
    }
}
