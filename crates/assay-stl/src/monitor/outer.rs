//! The outside of a formula: what is evaluated at the first sample only, folding what the stream emits.
use std::collections::HashMap;

use super::Running;
use super::nest::Nest;
use super::stream::{Input, NodeId, Stream};
use crate::fold::Fold;
use crate::offline::After;
use crate::outcome::{End, Outcome};
use crate::plan::{Op, OpId, Plan, Steps};

/// One value at the first sample.
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
enum Part {
    Anchor(usize),
    Pick(Fold, Box<[usize]>),
}

/// Folds a stream into the formula's value and, where it has implications, into whether it was exercised.
#[derive(Debug, Clone)]
pub(crate) struct Outer {
    stream: Stream,
    anchors: Vec<Anchor>,
    parts: Vec<Part>,
    root: usize,
    active: Option<usize>,
    t: usize,
    /// Samples after the last one until everything repeats.
    settle: usize,
    scratch: Vec<(f64, f64)>,
}

impl Outer {
    /// `None` if the formula nests unbounded operators in a way that only the whole trace can answer.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let mut builder =
            Builder { plan, stream: Stream::default(), anchors: vec![], parts: vec![], known: HashMap::new() };
        let root = builder.part(plan.root)?;
        let active = match plan.active {
            Some(active) => Some(builder.part(active)?),
            None => None,
        };
        let Builder { stream, anchors, parts, .. } = builder;
        let memory = plan.facts.iter().map(|facts| facts.memory).max().unwrap_or(0);
        let settle = stream.longest() + memory + 1;
        let scratch = vec![(f64::NAN, f64::NAN); parts.len()];
        Some(Self { stream, anchors, parts, root, active, t: 0, settle, scratch })
    }

    pub(crate) fn push(&mut self, plan: &Plan, sample: &[f64]) -> Running {
        self.step(plan, Input::Sample(sample));
        if let Part::Anchor(only) = &self.parts[self.root] {
            let (lower, upper) = self.anchors[*only].bounds();
            return Running { lower, upper };
        }
        for i in 0..=self.root {
            self.scratch[i] = match &self.parts[i] {
                Part::Anchor(anchor) => self.anchors[*anchor].bounds(),
                Part::Pick(fold, kids) => kids.iter().fold((f64::NAN, f64::NAN), |best, kid| {
                    let (lower, upper) = self.scratch[*kid];
                    (fold.of(best.0, lower), fold.of(best.1, upper))
                }),
            };
        }
        let (lower, upper) = self.scratch[self.root];
        Running { lower, upper }
    }

    pub(crate) fn finish(&self, plan: &Plan, length: usize, end: End) -> Outcome {
        let mut clipped = self.ended(plan, length, After::Nothing);
        let robustness = clipped.value(self.root, After::Nothing);
        let vacuous = self.active.is_some_and(|active| clipped.value(active, After::Nothing) < 0.0);
        match end {
            End::Complete => Outcome::complete(robustness, vacuous),
            End::Cut => {
                let limit = |after| self.ended(plan, length, after).value(self.root, after);
                Outcome::cut(robustness, (limit(After::Worst), limit(After::Best)), vacuous)
            }
        }
    }

    fn step(&mut self, plan: &Plan, input: Input<'_>) {
        self.stream.step(plan, self.t, input);
        for anchor in &mut self.anchors {
            anchor.step(&self.stream, self.t, input);
        }
        self.t += 1;
    }

    /// A copy that has gone on until everything is settled.
    fn ended(&self, plan: &Plan, length: usize, after: After) -> Self {
        let mut copy = self.clone();
        let steps = if after == After::Nothing { self.stream.longest() } else { self.settle };
        for _ in 0..steps {
            copy.step(plan, Input::Past { length, after });
        }
        copy
    }

    fn value(&mut self, root: usize, after: After) -> f64 {
        let Some(last) = self.t.checked_sub(1) else { return f64::NEG_INFINITY };
        let mut values = vec![f64::NAN; root + 1];
        for i in 0..=root {
            values[i] = match &self.parts[i] {
                Part::Anchor(anchor) => self.anchors[*anchor].end(&self.stream, last, after),
                Part::Pick(fold, kids) => kids.iter().fold(f64::NAN, |best, kid| fold.of(best, values[*kid])),
            };
        }
        values[root]
    }
}

impl Anchor {
    #[inline]
    fn step(&mut self, stream: &Stream, t: usize, input: Input<'_>) {
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
                // The stream has run dry here, but the nested operators must not see an empty sample.
                Input::Past { length, after: After::Nothing } if t >= length + nest.delay() => {}
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

    /// The value once all is settled, `last` being the last step.
    fn end(&mut self, stream: &Stream, last: usize, after: After) -> f64 {
        match self {
            Anchor::First { value, empty, .. } => {
                if value.is_nan() {
                    *empty
                } else {
                    *value
                }
            }
            Anchor::Window { from, fold, best, closed, .. } => {
                let open = !*closed && after != After::Nothing;
                let rest = if open { stream.emitted(*from, last) } else { None };
                let best = fold.of(*best, rest.map_or(f64::NAN, |(_, value)| value));
                if best.is_nan() { fold.empty() } else { best }
            }
            Anchor::Nest(nest) if after == After::Nothing => nest.ended(),
            Anchor::Nest(nest) => nest.for_ever(stream, last),
        }
    }
}

struct Builder<'a> {
    plan: &'a Plan,
    stream: Stream,
    anchors: Vec<Anchor>,
    parts: Vec<Part>,
    known: HashMap<OpId, usize>,
}

impl Builder<'_> {
    fn part(&mut self, op: OpId) -> Option<usize> {
        if let Some(known) = self.known.get(&op) {
            return Some(*known);
        }
        let part = match &self.plan.ops[op] {
            Op::Pick { fold, kids } => self.pick(*fold, kids)?,
            Op::Ahead { fold, steps, kid } => self.window(op, *fold, *steps, *kid)?,
            _ if self.plan.facts[op].delay.is_some() => self.first(op),
            _ => self.nest(op)?,
        };
        self.known.insert(op, part);
        Some(part)
    }

    fn pick(&mut self, fold: Fold, kids: &[OpId]) -> Option<usize> {
        let kids = kids.iter().map(|kid| self.part(*kid)).collect::<Option<_>>()?;
        Some(self.add(Part::Pick(fold, kids)))
    }

    fn add(&mut self, part: Part) -> usize {
        self.parts.push(part);
        self.parts.len() - 1
    }

    fn anchor(&mut self, anchor: Anchor) -> usize {
        self.anchors.push(anchor);
        self.add(Part::Anchor(self.anchors.len() - 1))
    }

    fn first(&mut self, op: OpId) -> usize {
        let (from, empty) = (self.stream.node(self.plan, op), self.plan.empty(op));
        self.anchor(Anchor::First { from, value: f64::NAN, seen: false, empty })
    }

    fn nest(&mut self, op: OpId) -> Option<usize> {
        let nest = Nest::new(self.plan, &mut self.stream, op)?;
        Some(self.anchor(Anchor::Nest(Box::new(nest))))
    }

    /// A window anchored at the first sample needs no queue. `always (p and q)` becomes two windows where the sides
    /// settle at different times, so that the quick one does not wait for the slow one (dually `eventually` and `or`).
    fn window(&mut self, op: OpId, fold: Fold, steps: Steps, kid: OpId) -> Option<usize> {
        let facts = &self.plan.facts;
        match &self.plan.ops[kid] {
            Op::Pick { fold: inner, kids }
                if *inner == fold && kids.iter().any(|k| facts[*k].delay != facts[kids[0]].delay) =>
            {
                let each = |side: &OpId| facts[*side].delay.map(|_| self.settled(fold, steps, *side));
                // Sides that never settle stay together in the nest of the whole.
                match kids.iter().map(each).collect::<Option<_>>() {
                    Some(sides) => Some(self.add(Part::Pick(fold, sides))),
                    None => self.nest(op),
                }
            }
            _ if facts[kid].delay.is_some() => Some(self.settled(fold, steps, kid)),
            _ => self.nest(op),
        }
    }

    fn settled(&mut self, fold: Fold, steps: Steps, kid: OpId) -> usize {
        let from = self.stream.node(self.plan, kid);
        self.anchor(Anchor::Window { from, fold, steps, best: f64::NAN, closed: false })
    }
}
