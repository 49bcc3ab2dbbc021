//! Streaming: one sample at a time, memory bounded by the formula's horizon, the same answer as offline to the bit.
//!
//! Three engines. Limits (`always x <= 1`, `always (x <= 1 and y > 0)`) are one
//! comparison a predicate. In general every operation whose
//! value is settled within a bounded time (`stream`) emits one value a sample, late by its delay, and the outside of
//! the formula (`outer`) folds these. What neither can do (an unbounded future operator inside a bounded window or a
//! past operator) records the trace and evaluates it at the end.
mod nest;
mod outer;
mod slide;
mod stream;

use std::sync::Arc;

use crate::aggregate::History;
use crate::fold::Fold;
use crate::leaf::Leaf;
use crate::outcome::{End, Outcome};
use crate::plan::{Op, OpId, Plan, Steps};
use outer::Outer;

/// What the samples so far leave open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Running {
    /// The robustness cannot fall below this, whatever follows; at least 0 means certainly satisfied.
    pub lower: f64,
    /// The robustness cannot rise above this, whatever follows; below 0 means certainly violated.
    pub upper: f64,
}

impl Running {
    pub(crate) const OPEN: Self = Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
}

/// A formula watching samples as they come. Clone it to try a continuation.
#[derive(Debug, Clone)]
pub struct Monitor {
    plan: Arc<Plan>,
    pushed: usize,
    history: History,
    engine: Engine,
}

#[derive(Debug, Clone)]
enum Engine {
    /// `always` of predicates that must all hold: they, and the least of their values.
    Limit {
        leaves: Box<[Leaf]>,
        least: f64,
    },
    Fold(Box<Outer>),
    /// The columns so far, empty where the formula does not look.
    Record(Vec<Vec<f64>>),
}

impl Monitor {
    pub(crate) fn new(plan: Arc<Plan>) -> Self {
        let engine = limit(&plan).unwrap_or_else(|| match Outer::new(&plan) {
            Some(outer) => Engine::Fold(Box::new(outer)),
            None => Engine::Record(vec![Vec::new(); plan.columns()]),
        });
        Self { history: History::new(&plan), plan, pushed: 0, engine }
    }

    /// Takes the next sample (signals in the order given to [`Formula::bind`](crate::Formula::bind); a missing one
    /// counts as NaN) and says what is certain now.
    ///
    /// The bounds are sound. They are as tight as [`Outcome::interval`] of the same samples where no operator looks
    /// ahead from inside another one, and no operator looks back; elsewhere they may lag by the formula's horizon.
    #[inline]
    pub fn push(&mut self, sample: &[f64]) -> Running {
        self.pushed += 1;
        let sample = if self.history.is_empty() { sample } else { self.history.extend(&self.plan, sample) };
        match &mut self.engine {
            Engine::Limit { leaves, least } => {
                *least = leaves.iter().fold(*least, |least, leaf| Fold::Min.of(leaf.at(sample), least));
                Running { lower: f64::NEG_INFINITY, upper: *least }
            }
            Engine::Fold(outer) => outer.push(&self.plan, sample),
            Engine::Record(columns) => {
                for column in &self.plan.used {
                    columns[*column].push(sample.get(*column).copied().unwrap_or(f64::NAN));
                }
                Running::OPEN
            }
        }
    }

    /// The outcome if the trace ends here: what [`Bound::evaluate`](crate::Bound::evaluate) says of the same samples.
    /// The monitor can go on afterwards.
    pub fn finish(&self, end: End) -> Outcome {
        match &self.engine {
            _ if self.pushed == 0 => Outcome::EMPTY,
            Engine::Limit { least, .. } => match end {
                End::Complete => Outcome::complete(*least, false),
                End::Cut => Outcome::cut(*least, (f64::NEG_INFINITY, *least), false),
            },
            Engine::Fold(outer) => outer.finish(&self.plan, self.pushed, end),
            Engine::Record(columns) => {
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
        !matches!(self.engine, Engine::Record(_))
    }
}

fn limit(plan: &Plan) -> Option<Engine> {
    let Op::Ahead { fold: Fold::Min, steps: Steps::ALL, kid } = plan.ops[plan.root] else { return None };
    let leaf = |op: &OpId| match plan.ops[*op] {
        Op::Leaf(leaf) => Some(plan.leaves[leaf].clone()),
        _ => None,
    };
    let leaves = match &plan.ops[kid] {
        Op::Pick { fold: Fold::Min, kids } => kids.iter().map(leaf).collect::<Option<_>>()?,
        _ => [leaf(&kid)?].into(),
    };
    // With an implication in it (`not (p implies q)`), whether it was exercised is to be watched as well.
    plan.active.is_none().then_some(Engine::Limit { leaves, least: f64::INFINITY })
}
