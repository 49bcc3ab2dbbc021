//! The outermost level of a formula, which is evaluated at the first sample only, by folding the values that the stream
//! emits.
use std::collections::HashMap;

use super::nest::Nest;
use super::running_bounds::RunningBounds;
use super::stream::{NodeId, StepInput, Stream};
use crate::evaluation::{TraceEnd, TraceEvaluation};
use crate::fold::Fold;
use crate::offline::Continuation;
use crate::plan::{EvaluationPlan, Op, OpId, Steps};

/// A value at the first sample.
#[derive(Debug, Clone)]
enum Anchor {
    /// The node's value at the first sample.
    First {
        from: NodeId,
        value: f64,
        seen: bool,
        empty: f64,
    },
    /// The extremum of the node's values over a window of samples.
    Window {
        from: NodeId,
        fold: Fold,
        steps: Steps,
        best: f64,
        closed: bool,
    },
    Nest(Box<Nest>),
}

#[derive(Debug, Clone)]
enum OuterNode {
    Anchor(usize),
    Extremum(Fold, Box<[usize]>),
}

/// Folds a stream into the formula's value and, if it has implications, into its activity.
#[derive(Debug, Clone)]
pub(crate) struct OuterMonitor {
    stream: Stream,
    anchors: Vec<Anchor>,
    parts: Vec<OuterNode>,
    root: usize,
    active: Option<usize>,
    t: usize,
    /// Number of samples after the last one until all values repeat.
    settle: usize,
    scratch: Vec<(f64, f64)>,
}

impl OuterMonitor {
    /// Creates the monitor; `None` if the formula nests unbounded operators in a way that needs the whole trace.
    pub(crate) fn new(plan: &EvaluationPlan) -> Option<Self> {
        let mut builder =
            OuterBuilder { plan, stream: Stream::default(), anchors: vec![], parts: vec![], known: HashMap::new() };
        let root = builder.part(plan.root)?;
        let active = match plan.active {
            Some(active) => Some(builder.part(active)?),
            None => None,
        };
        let OuterBuilder { stream, anchors, parts, .. } = builder;
        let memory = plan.facts.iter().map(|facts| facts.memory).max().unwrap_or(0);
        let settle = stream.longest() + memory + 1;
        let scratch = vec![(f64::NAN, f64::NAN); parts.len()];
        Some(Self { stream, anchors, parts, root, active, t: 0, settle, scratch })
    }

    pub(crate) fn push(&mut self, plan: &EvaluationPlan, sample: &[f64]) -> RunningBounds {
        self.step(plan, StepInput::Sample(sample));
        if let OuterNode::Anchor(only) = &self.parts[self.root] {
            let (lower, upper) = self.anchors[*only].bounds();
            return RunningBounds { lower, upper };
        }
        for i in 0..=self.root {
            self.scratch[i] = match &self.parts[i] {
                OuterNode::Anchor(anchor) => self.anchors[*anchor].bounds(),
                OuterNode::Extremum(fold, operands) => operands.iter().fold((f64::NAN, f64::NAN), |best, operand| {
                    let (lower, upper) = self.scratch[*operand];
                    (fold.of(best.0, lower), fold.of(best.1, upper))
                }),
            };
        }
        let (lower, upper) = self.scratch[self.root];
        RunningBounds { lower, upper }
    }

    pub(crate) fn finish(&self, plan: &EvaluationPlan, length: usize, end: TraceEnd) -> TraceEvaluation {
        let mut clipped = self.ended(plan, length, Continuation::Nothing);
        let robustness = clipped.value(self.root, Continuation::Nothing);
        let vacuous = self.active.is_some_and(|active| clipped.value(active, Continuation::Nothing) < 0.0);
        match end {
            TraceEnd::Complete => TraceEvaluation::complete(robustness, vacuous),
            TraceEnd::Cut => {
                let limit = |after| self.ended(plan, length, after).value(self.root, after);
                TraceEvaluation::cut(robustness, (limit(Continuation::Worst), limit(Continuation::Best)), vacuous)
            }
        }
    }

    fn step(&mut self, plan: &EvaluationPlan, input: StepInput<'_>) {
        self.stream.step(plan, self.t, input);
        for anchor in &mut self.anchors {
            anchor.step(&self.stream, self.t, input);
        }
        self.t += 1;
    }

    /// Returns a copy advanced until all values have settled.
    fn ended(&self, plan: &EvaluationPlan, length: usize, after: Continuation) -> Self {
        let mut copy = self.clone();
        let steps = if after == Continuation::Nothing { self.stream.longest() } else { self.settle };
        for _ in 0..steps {
            copy.step(plan, StepInput::Past { length, after });
        }
        copy
    }

    fn value(&mut self, root: usize, after: Continuation) -> f64 {
        let Some(last) = self.t.checked_sub(1) else { return f64::NEG_INFINITY };
        let mut values = vec![f64::NAN; root + 1];
        for i in 0..=root {
            values[i] = match &self.parts[i] {
                OuterNode::Anchor(anchor) => self.anchors[*anchor].end(&self.stream, last, after),
                OuterNode::Extremum(fold, operands) => {
                    operands.iter().fold(f64::NAN, |best, operand| fold.of(best, values[*operand]))
                }
            };
        }
        values[root]
    }
}

impl Anchor {
    #[inline]
    fn step(&mut self, stream: &Stream, t: usize, input: StepInput<'_>) {
        match self {
            Anchor::First { from, value, seen, .. } => {
                if let (false, Some((0, found))) = (*seen, stream.emitted(*from, t)) {
                    (*value, *seen) = (found, true);
                }
            }
            Anchor::Window { from, fold, steps, best, closed } => {
                if let (false, Some((at, found))) = (*closed, stream.emitted(*from, t)) {
                    if at >= steps.from {
                        *best = fold.of(found, *best);
                    }
                    *closed = steps.to.is_some_and(|to| at >= to);
                }
            }
            Anchor::Nest(nest) => match input {
                // The stream emits no further values, and the nested operators must not fold an empty sample.
                StepInput::Past { length, after: Continuation::Nothing } if t >= length + nest.delay() => {}
                _ => nest.step(stream, t),
            },
        }
    }

    fn bounds(&self) -> (f64, f64) {
        match self {
            Anchor::First { seen: false, .. } => (f64::NEG_INFINITY, f64::INFINITY),
            Anchor::First { value, empty, .. } => {
                let value = if value.is_nan() { *empty } else { *value };
                (value, value)
            }
            Anchor::Window { fold, best, closed, .. } => {
                let best = if best.is_nan() { fold.empty() } else { *best };
                match fold {
                    _ if *closed => (best, best),
                    Fold::Min => (f64::NEG_INFINITY, best),
                    Fold::Max => (best, f64::INFINITY),
                }
            }
            Anchor::Nest(nest) => nest.bounds(),
        }
    }

    /// Returns the value once everything has settled; `last` is the last step.
    fn end(&mut self, stream: &Stream, last: usize, after: Continuation) -> f64 {
        match self {
            Anchor::First { value, empty, .. } => {
                if value.is_nan() {
                    *empty
                } else {
                    *value
                }
            }
            Anchor::Window { from, fold, best, closed, .. } => {
                let open = !*closed && after != Continuation::Nothing;
                let rest = if open { stream.emitted(*from, last) } else { None };
                let best = fold.of(*best, rest.map_or(f64::NAN, |(_, value)| value));
                if best.is_nan() { fold.empty() } else { best }
            }
            Anchor::Nest(nest) if after == Continuation::Nothing => nest.ended(),
            Anchor::Nest(nest) => nest.forever(stream, last),
        }
    }
}

struct OuterBuilder<'a> {
    plan: &'a EvaluationPlan,
    stream: Stream,
    anchors: Vec<Anchor>,
    parts: Vec<OuterNode>,
    known: HashMap<OpId, usize>,
}

impl OuterBuilder<'_> {
    fn part(&mut self, op: OpId) -> Option<usize> {
        if let Some(known) = self.known.get(&op) {
            return Some(*known);
        }
        let part = match &self.plan.ops[op] {
            Op::Extremum { fold, operands } => self.extremum(*fold, operands)?,
            Op::Ahead { fold, steps, operand } => self.window(op, *fold, *steps, *operand)?,
            _ if self.plan.facts[op].delay.is_some() => self.first(op),
            _ => self.nest(op)?,
        };
        self.known.insert(op, part);
        Some(part)
    }

    fn extremum(&mut self, fold: Fold, operands: &[OpId]) -> Option<usize> {
        let operands = operands.iter().map(|operand| self.part(*operand)).collect::<Option<_>>()?;
        Some(self.add(OuterNode::Extremum(fold, operands)))
    }

    fn add(&mut self, part: OuterNode) -> usize {
        self.parts.push(part);
        self.parts.len() - 1
    }

    fn anchor(&mut self, anchor: Anchor) -> usize {
        self.anchors.push(anchor);
        self.add(OuterNode::Anchor(self.anchors.len() - 1))
    }

    fn first(&mut self, op: OpId) -> usize {
        let (from, empty) = (self.stream.node(self.plan, op), self.plan.empty(op));
        self.anchor(Anchor::First { from, value: f64::NAN, seen: false, empty })
    }

    fn nest(&mut self, op: OpId) -> Option<usize> {
        let nest = Nest::new(self.plan, &mut self.stream, op)?;
        Some(self.anchor(Anchor::Nest(Box::new(nest))))
    }

    /// Adds a window anchored at the first sample, which needs no queue. `always (p and q)` becomes two windows if the
    /// sides settle at different times, so that the quick one does not wait for the slow one (dually `eventually` and
    /// `or`).
    fn window(&mut self, op: OpId, fold: Fold, steps: Steps, operand: OpId) -> Option<usize> {
        let facts = &self.plan.facts;
        match &self.plan.ops[operand] {
            Op::Extremum { fold: inner, operands }
                if *inner == fold && operands.iter().any(|k| facts[*k].delay != facts[operands[0]].delay) =>
            {
                let each = |side: &OpId| facts[*side].delay.map(|_| self.settled(fold, steps, *side));
                // If a side never settles, all sides stay together in one nest.
                match operands.iter().map(each).collect::<Option<_>>() {
                    Some(sides) => Some(self.add(OuterNode::Extremum(fold, sides))),
                    None => self.nest(op),
                }
            }
            _ if facts[operand].delay.is_some() => Some(self.settled(fold, steps, operand)),
            _ => self.nest(op),
        }
    }

    fn settled(&mut self, fold: Fold, steps: Steps, operand: OpId) -> usize {
        let from = self.stream.node(self.plan, operand);
        self.anchor(Anchor::Window { from, fold, steps, best: f64::NAN, closed: false })
    }
}
