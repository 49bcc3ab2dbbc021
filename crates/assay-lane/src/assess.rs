//! From a trace to what it says: clauses and violations (offline, over all rows), stages and success (while running).

use assay_model::{ClauseResult, ClauseStatus, Level, MAX_VIOLATIONS_PER_CLAUSE, StageResult, Violation};
use assay_scenario::{Clause, Scenario};
use assay_stl::{End, Status};

use crate::Trace;

/// What the clauses say of an episode.
#[derive(Debug)]
pub(crate) struct Assessment {
    pub(crate) clauses: Vec<ClauseResult>,
    pub(crate) violations: Vec<Violation>,
    pub(crate) unsafe_time_s: f64,
}

/// Evaluates every clause over the whole trace.
pub(crate) fn assess(scenario: &Scenario, trace: &Trace, end: End) -> Assessment {
    let columns = trace.signals();
    let mut unsafe_rows = vec![false; trace.rows()];
    let mut clauses = Vec::new();
    let mut violations = Vec::new();
    for clause in &scenario.clauses {
        let found = violations_of(clause, &columns, end, &mut unsafe_rows, scenario.world.timestep_s);
        clauses.push(result_of(clause, &columns, end, u32::try_from(found.len()).unwrap_or(u32::MAX)));
        violations.extend(found.into_iter().take(MAX_VIOLATIONS_PER_CLAUSE));
    }
    violations.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    let unsafe_rows = u32::try_from(unsafe_rows.iter().filter(|row| **row).count()).unwrap_or(u32::MAX);
    Assessment { clauses, violations, unsafe_time_s: f64::from(unsafe_rows) * scenario.world.timestep_s }
}

fn result_of(clause: &Clause, columns: &[&[f64]], end: End, violation_count: u32) -> ClauseResult {
    let outcome = clause.bound.evaluate(columns, end);
    let status = match outcome.status {
        Status::Satisfied if outcome.vacuous && clause.must_activate => ClauseStatus::NotApplicable,
        Status::Satisfied => ClauseStatus::Satisfied,
        Status::Violated => ClauseStatus::Violated,
        Status::Undetermined => ClauseStatus::Undetermined,
    };
    let margins = clause.bound.pointwise(columns);
    let worst = margins.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map(|(row, _)| columns[0][row]);
    ClauseResult {
        id: clause.id.clone(),
        level: clause.level,
        standard: clause.standard.clone(),
        unit: clause.unit.clone(),
        limit: clause.limit,
        status,
        robustness: Some(outcome.robustness).filter(|r| r.is_finite()),
        worst_value: clause.formula.measured(outcome.robustness),
        worst_time_s: worst,
        vacuous: outcome.vacuous,
        violation_count,
    }
}

fn violations_of(
    clause: &Clause,
    columns: &[&[f64]],
    end: End,
    unsafe_rows: &mut [bool],
    step_s: f64,
) -> Vec<Violation> {
    let spans = clause.bound.spans_at(columns, end);
    if clause.level == Level::Critical {
        for span in &spans {
            unsafe_rows[span.first..=span.last].fill(true);
        }
    }
    let time = columns[0];
    let violation = |span: &assay_stl::Span| Violation {
        clause: clause.id.clone(),
        level: clause.level,
        start_s: time[span.first],
        end_s: time[span.last] + step_s,
        value: clause.formula.measured(span.robustness),
        limit: clause.limit,
        unit: clause.unit.clone(),
        robustness: Some(span.robustness).filter(|r| r.is_finite()),
    };
    spans.iter().map(violation).collect()
}

/// Watches stages and success at every control step.
#[derive(Debug)]
pub(crate) struct TaskWatch<'a> {
    scenario: &'a Scenario,
    /// Since when each stage's condition has held.
    stage_since: Vec<Option<f64>>,
    reached: Vec<Option<f64>>,
    success_since: Option<f64>,
}

impl<'a> TaskWatch<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        let none = vec![None; scenario.stages.len()];
        Self { scenario, stage_since: none.clone(), reached: none, success_since: None }
    }

    /// Takes the latest sample; returns whether the task's success ends the episode now.
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

    /// The success condition has held long enough at time `now`.
    pub(crate) fn succeeded(&self, now: f64) -> bool {
        self.success_since.is_some_and(|since| held(now, since, self.scenario.success.hold_s))
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
    // Times are multiples of the physics step; half of the shortest one is room for rounding.
    now - since >= hold_s - 5e-5
}
