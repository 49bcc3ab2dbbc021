//! Operations whose values settle within a bounded time, one value per sample. At sample `t` a node of delay `d` emits
//! its value at `t - d`; nodes are in topological order, so that each reads the values that its operands have just
//! emitted.
use std::collections::{HashMap, VecDeque};

use super::sliding::{SlidingExtremum, SlidingUntil};
use crate::fold::Fold;
use crate::offline::Continuation;
use crate::plan::{EvaluationPlan, Op, OpId, Steps};

/// Index of a node.
pub(crate) type NodeId = usize;

#[derive(Debug, Clone)]
enum StreamOp {
    /// Index into the plan's predicates.
    Predicate(usize),
    Fixed(f64),
    Extremum(Fold, Box<[NodeId]>),
    /// The value from `steps` samples ago; NaN before the first.
    Hold {
        from: NodeId,
        steps: usize,
        held: VecDeque<f64>,
    },
    SlidingExtremum(NodeId, SlidingExtremum),
    /// The extremum of all values so far.
    Run {
        from: NodeId,
        fold: Fold,
        best: f64,
    },
    Until {
        left: NodeId,
        right: NodeId,
        window: SlidingUntil,
    },
    Since {
        left: NodeId,
        right: NodeId,
        outer: Fold,
        last: f64,
    },
    Gate {
        gate: NodeId,
        fold: Fold,
        operands: Box<[NodeId]>,
    },
}

#[derive(Debug, Clone)]
struct StreamNode {
    kind: StreamOp,
    /// The first sample at which its operands have emitted.
    start: usize,
    delay: usize,
}

/// The input of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StepInput<'a> {
    Sample(&'a [f64]),
    /// A step past the end of a trace of `length` samples.
    Past {
        length: usize,
        after: Continuation,
    },
}

/// The nodes and the values that they emitted last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    nodes: Vec<StreamNode>,
    values: Vec<f64>,
    known: HashMap<OpId, NodeId>,
    aligned: HashMap<(NodeId, usize), NodeId>,
}

impl Stream {
    /// Returns the value that node `id` emitted at sample `t`, with the index of the sample that it belongs to.
    #[inline]
    pub(crate) fn emitted(&self, id: NodeId, t: usize) -> Option<(usize, f64)> {
        let at = t.checked_sub(self.nodes[id].delay)?;
        Some((at, self.values[id]))
    }

    /// Returns the delay of node `id` in samples.
    pub(crate) fn delay(&self, id: NodeId) -> usize {
        self.nodes[id].delay
    }

    /// Returns the longest delay of all nodes.
    pub(crate) fn longest(&self) -> usize {
        self.nodes.iter().map(|node| node.delay).max().unwrap_or(0)
    }

    /// Advances all nodes by sample `t`.
    pub(crate) fn step(&mut self, plan: &EvaluationPlan, t: usize, input: StepInput<'_>) {
        for id in 0..self.nodes.len() {
            let StreamNode { kind, start, delay } = &mut self.nodes[id];
            if t < *start {
                continue;
            }
            let values = &self.values;
            let value = match kind {
                StreamOp::Predicate(predicate) => match input {
                    StepInput::Sample(sample) => plan.predicates[*predicate].at(sample),
                    StepInput::Past { after, .. } => after.value(),
                },
                StreamOp::Fixed(value) => *value,
                StreamOp::Extremum(fold, operands) => {
                    operands.iter().fold(f64::NAN, |best, operand| fold.of(best, values[*operand]))
                }
                StreamOp::Hold { from, steps, held } => hold(held, *steps, values[*from]),
                StreamOp::SlidingExtremum(from, slide) => slide.push(values[*from]),
                StreamOp::Run { from, fold, best } => {
                    *best = fold.of(values[*from], *best);
                    *best
                }
                StreamOp::Until { left, right, window } => window.push(values[*left], values[*right]),
                StreamOp::Since { left, right, outer, last } => {
                    *last = outer.of(values[*right], outer.dual().onto(*last, values[*left]));
                    *last
                }
                StreamOp::Gate { gate, fold, operands } => {
                    operands.iter().fold(values[*gate], |best, operand| fold.onto(best, values[*operand]))
                }
            };
            // Past the end of a complete trace no operation has a value, not even a past operator.
            let gone =
                matches!(input, StepInput::Past { length, after: Continuation::Nothing } if t >= length + *delay);
            self.values[id] = if gone { f64::NAN } else { value };
        }
    }

    /// Returns the node of operation `op`, adding it if needed. The delay of `op` must be bounded.
    pub(crate) fn node(&mut self, plan: &EvaluationPlan, op: OpId) -> NodeId {
        if let Some(known) = self.known.get(&op) {
            return *known;
        }
        let id = match &plan.ops[op] {
            Op::Predicate(predicate) => self.add(StreamOp::Predicate(*predicate), 0, 0),
            Op::Fixed(value) => self.add(StreamOp::Fixed(*value), 0, 0),
            Op::Extremum { fold, operands } => {
                let (operands, delay) = self.together(plan, operands);
                self.add(StreamOp::Extremum(*fold, operands), delay, delay)
            }
            Op::Ahead { fold, steps, operand } => {
                let operand = self.node(plan, *operand);
                self.slide(*fold, operand, steps.width().unwrap_or(1), steps.reach())
            }
            Op::Behind { fold, steps, operand } => self.behind(plan, *fold, *steps, *operand),
            Op::Until { outer, steps, left, right } => self.until(plan, *outer, *steps, [*left, *right]),
            Op::Since { outer, left, right } => {
                let (sides, delay) = self.together(plan, &[*left, *right]);
                let kind = StreamOp::Since { left: sides[0], right: sides[1], outer: *outer, last: f64::NAN };
                self.add(kind, delay, delay)
            }
            Op::Gate { fold, gate, operands, .. } => {
                let (all, delay) = self.together(plan, &[&[*gate], &operands[..]].concat());
                self.add(StreamOp::Gate { gate: all[0], fold: *fold, operands: all[1..].into() }, delay, delay)
            }
        };
        self.known.insert(op, id);
        id
    }

    /// Returns a node that emits the values of `id` with the longer delay `delay`.
    pub(crate) fn align(&mut self, id: NodeId, delay: usize) -> NodeId {
        let own = self.nodes[id].delay;
        if own == delay {
            return id;
        }
        if let Some(known) = self.aligned.get(&(id, delay)) {
            return *known;
        }
        let held = self.add(StreamOp::Hold { from: id, steps: delay - own, held: VecDeque::new() }, own, delay);
        self.aligned.insert((id, delay), held);
        held
    }

    /// Returns the nodes of several operations, aligned to the longest of their delays.
    fn together(&mut self, plan: &EvaluationPlan, ops: &[OpId]) -> (Box<[NodeId]>, usize) {
        let ids: Vec<NodeId> = ops.iter().map(|op| self.node(plan, *op)).collect();
        let delay = ids.iter().map(|id| self.nodes[*id].delay).max().unwrap_or(0);
        (ids.into_iter().map(|id| self.align(id, delay)).collect(), delay)
    }

    fn add(&mut self, kind: StreamOp, start: usize, delay: usize) -> NodeId {
        self.nodes.push(StreamNode { kind, start, delay });
        self.values.push(f64::NAN);
        self.nodes.len() - 1
    }

    /// Adds the extremum of the last `width` values of `from`, for the sample `later` before the last one.
    fn slide(&mut self, fold: Fold, from: NodeId, width: usize, later: usize) -> NodeId {
        let start = self.nodes[from].delay;
        self.add(StreamOp::SlidingExtremum(from, SlidingExtremum::new(fold, width)), start, start + later)
    }

    fn behind(&mut self, plan: &EvaluationPlan, fold: Fold, steps: Steps, operand: OpId) -> NodeId {
        let mut from = self.node(plan, operand);
        let delay = self.nodes[from].delay;
        if steps.from > 0 {
            // Unlike `align`, this shifts the value to a later sample instead of delaying it.
            from = self.add(StreamOp::Hold { from, steps: steps.from, held: VecDeque::new() }, delay, delay);
        }
        match steps.width() {
            Some(width) => self.slide(fold, from, width, 0),
            None => self.add(StreamOp::Run { from, fold, best: f64::NAN }, delay, delay),
        }
    }

    /// Adds a bounded `until`: a window of pairs, and the left side alone before it.
    fn until(&mut self, plan: &EvaluationPlan, outer: Fold, steps: Steps, sides: [OpId; 2]) -> NodeId {
        let (sides, start) = self.together(plan, &sides);
        let (width, delay) = (steps.width().unwrap_or(1), start + steps.reach());
        let window = SlidingUntil::new(outer, width);
        let witness = self.add(StreamOp::Until { left: sides[0], right: sides[1], window }, start, delay);
        if steps.from == 0 {
            return witness;
        }
        let before = self.align(sides[0], start + width);
        let slide = StreamOp::SlidingExtremum(before, SlidingExtremum::new(outer.dual(), steps.from));
        let left = self.add(slide, start + width, delay);
        self.add(StreamOp::Gate { gate: witness, fold: outer.dual(), operands: [left].into() }, delay, delay)
    }
}

/// Pushes `value` and returns the one from `steps` samples before.
fn hold(held: &mut VecDeque<f64>, steps: usize, value: f64) -> f64 {
    held.push_back(value);
    if held.len() > steps { held.pop_front().unwrap_or(f64::NAN) } else { f64::NAN }
}
