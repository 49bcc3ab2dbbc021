//! Streaming: one sample at a time, memory bounded by the formula's horizon, the same answer as offline to the bit.
//!
//! Three engines. Limits (`always x <= 1`, `always (x <= 1 and y > 0)`) are one
//! comparison a predicate. In general every operation whose
//! value is settled within a bounded time (`stream`) emits one value a sample, late by its delay, and the outside of
//! the formula (`outer`) folds these. What neither can do (an unbounded future operator inside a bounded window or a
//! past operator) records the trace and evaluates it at the end.
mod nest;
mod outer;
mod sliding;
mod stream;

use std::sync::Arc;

use crate::aggregate::History;
use crate::evaluation::{TraceEnd, TraceEvaluation};
use crate::fold::Fold;
use crate::plan::{EvaluationPlan, Op, OpId, Steps};
use crate::predicate::Predicate;
use outer::OuterMonitor;

/// What the samples so far leave open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunningBounds {
    /// The robustness cannot fall below this, whatever follows; at least 0 means certainly satisfied.
    pub lower: f64,
    /// The robustness cannot rise above this, whatever follows; below 0 means certainly violated.
    pub upper: f64,
}

impl RunningBounds {
    pub(crate) const OPEN: Self = Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
}

/// A formula watching samples as they come. Clone it to try a continuation.
#[derive(Debug, Clone)]
pub struct Monitor {
    plan: Arc<EvaluationPlan>,
    pushed: usize,
    history: History,
    engine: MonitorEngine,
}

#[derive(Debug, Clone)]
enum MonitorEngine {
    /// `always` of predicates that must all hold: they, and the least of their values.
    Limit {
        predicates: Box<[Predicate]>,
        least: f64,
    },
    Fold(Box<OuterMonitor>),
    /// The columns so far, empty where the formula does not look.
    Record(Vec<Vec<f64>>),
}

impl Monitor {
    pub(crate) fn new(plan: Arc<EvaluationPlan>) -> Self {
        let engine = limit(&plan).unwrap_or_else(|| match OuterMonitor::new(&plan) {
            Some(outer) => MonitorEngine::Fold(Box::new(outer)),
            None => MonitorEngine::Record(vec![Vec::new(); plan.columns()]),
        });
        Self { history: History::new(&plan), plan, pushed: 0, engine }
    }

    /// Takes the next sample (signals in the order given to [`Formula::bind`](crate::Formula::bind); a missing one
    /// counts as NaN) and says what is certain now.
    ///
    /// The bounds are sound. They are as tight as [`TraceEvaluation::interval`] of the same samples where no operator looks
    /// ahead from inside another one, and no operator looks back; elsewhere they may lag by the formula's horizon.
    #[inline]
    pub fn push(&mut self, sample: &[f64]) -> RunningBounds {
        self.pushed += 1;
        let sample = if self.history.is_empty() { sample } else { self.history.extend(&self.plan, sample) };
        match &mut self.engine {
            MonitorEngine::Limit { predicates, least } => {
                *least = predicates.iter().fold(*least, |least, predicate| Fold::Min.of(predicate.at(sample), least));
                RunningBounds { lower: f64::NEG_INFINITY, upper: *least }
            }
            MonitorEngine::Fold(outer) => outer.push(&self.plan, sample),
            MonitorEngine::Record(columns) => {
                for column in &self.plan.used {
                    columns[*column].push(sample.get(*column).copied().unwrap_or(f64::NAN));
                }
                RunningBounds::OPEN
            }
        }
    }

    /// The outcome if the trace ends here: what [`BoundFormula::evaluate`](crate::BoundFormula::evaluate) says of the same samples.
    /// The monitor can go on afterwards.
    pub fn finish(&self, end: TraceEnd) -> TraceEvaluation {
        match &self.engine {
            _ if self.pushed == 0 => TraceEvaluation::EMPTY,
            MonitorEngine::Limit { least, .. } => match end {
                TraceEnd::Complete => TraceEvaluation::complete(*least, false),
                TraceEnd::Cut => TraceEvaluation::cut(*least, (f64::NEG_INFINITY, *least), false),
            },
            MonitorEngine::Fold(outer) => outer.finish(&self.plan, self.pushed, end),
            MonitorEngine::Record(columns) => {
                let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
                self.plan.outcome(&columns, self.pushed, end)
            }
        }
    }

    /// How many samples it has taken.
    pub fn pushed(&self) -> usize {
        self.pushed
    }

    /// Whether its memory is bounded by the formula's horizon. If not (an unbounded future operator inside a bounded
    /// window or a past operator, as in `always[0:5] eventually p`) it records the trace, and its running bounds stay
    /// open until the end.
    pub fn is_bounded(&self) -> bool {
        !matches!(self.engine, MonitorEngine::Record(_))
    }
}

fn limit(plan: &EvaluationPlan) -> Option<MonitorEngine> {
    let Op::Ahead { fold: Fold::Min, steps: Steps::ALL, operand } = plan.ops[plan.root] else { return None };
    let predicate = |op: &OpId| match plan.ops[*op] {
        Op::Predicate(predicate) => Some(plan.predicates[predicate].clone()),
        _ => None,
    };
    let predicates = match &plan.ops[operand] {
        Op::Extremum { fold: Fold::Min, operands } => operands.iter().map(predicate).collect::<Option<_>>()?,
        _ => [predicate(&operand)?].into(),
    };
    // With an implication in it (`not (p implies q)`), whether it was exercised is to be watched as well.
    plan.active.is_none().then_some(MonitorEngine::Limit { predicates, least: f64::INFINITY })
}
