//! Streaming evaluation: one sample at a time, with memory bounded by the formula's horizon, and the same result as
//! offline evaluation to the bit.
//!
//! There are three engines. Limits (`always x <= 1`, `always (x <= 1 and y > 0)`) take one comparison per predicate.
//! In general, every operation whose value settles within a bounded time (`stream`) emits one value per sample after
//! its delay, and the outermost level of the formula (`outer`) folds these. For formulas that neither supports (an
//! unbounded future operator inside a bounded window or a past operator), the monitor records the trace and evaluates
//! it at the end.
mod nest;
mod outer;
mod running_bounds;
mod sliding;
mod stream;

use std::sync::Arc;

use crate::aggregate::History;
use crate::evaluation::{TraceEnd, TraceEvaluation};
use crate::fold::Fold;
use crate::plan::{EvaluationPlan, Op, OpId, Steps};
use crate::predicate::Predicate;
use outer::OuterMonitor;
pub use running_bounds::RunningBounds;

/// A streaming evaluator of a formula. Clone it to try a continuation.
#[derive(Debug, Clone)]
pub struct Monitor {
    plan: Arc<EvaluationPlan>,
    pushed: usize,
    history: History,
    engine: MonitorEngine,
}

#[derive(Debug, Clone)]
enum MonitorEngine {
    /// `always` of a conjunction of predicates: the predicates, and the minimum of their values so far.
    Limit {
        predicates: Box<[Predicate]>,
        least: f64,
    },
    Fold(Box<OuterMonitor>),
    /// The columns so far; those that the formula does not read stay empty.
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
    /// counts as NaN) and returns the current bounds.
    ///
    /// The bounds are sound. They are as tight as [`TraceEvaluation::interval`] of the same samples if no future
    /// operator is nested in another operator and there is no past operator; otherwise they may lag by the formula's
    /// horizon.
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

    /// Evaluates the formula as if the trace ended here, like
    /// [`BoundFormula::evaluate`](crate::BoundFormula::evaluate) on the same samples. The monitor can continue
    /// afterwards.
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

    /// Returns the number of samples taken so far.
    pub fn pushed(&self) -> usize {
        self.pushed
    }

    /// Returns true if the memory is bounded by the formula's horizon. If not (an unbounded future operator inside a
    /// bounded window or a past operator, as in `always[0:5] eventually p`), the monitor records the trace, and its
    /// running bounds stay open until the end.
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
    // With an implication in the formula (`not (p implies q)`), its activity must be monitored as well.
    plan.active.is_none().then_some(MonitorEngine::Limit { predicates, least: f64::INFINITY })
}
