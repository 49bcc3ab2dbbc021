//! Operations whose values settle within a bounded time, one value a sample. At sample `t` a node of delay `d` emits
//! its value at `t - d`; nodes are in order, so that each reads what its operands have just emitted.
use std::collections::{HashMap, VecDeque};

use super::slide::{Slide, SlideUntil};
use crate::fold::Fold;
use crate::offline::After;
use crate::plan::{Op, OpId, Plan, Steps};

/// Index of a node.
pub(crate) type NodeId = usize;

#[derive(Debug, Clone)]
enum Kind {
    /// Index into the plan's predicates.
    Leaf(usize),
    Fixed(f64),
    Pick(Fold, Box<[NodeId]>),
    /// The value `steps` ago, nothing before.
    Hold {
        from: NodeId,
        steps: usize,
        held: VecDeque<f64>,
    },
    Slide(NodeId, Slide),
    /// The extremum of all values so far.
    Run {
        from: NodeId,
        fold: Fold,
        best: f64,
    },
    Until {
        left: NodeId,
        right: NodeId,
        window: SlideUntil,
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
        kids: Box<[NodeId]>,
    },
}

#[derive(Debug, Clone)]
struct Node {
    kind: Kind,
    /// Its operands have emitted once this many samples have gone by.
    start: usize,
    delay: usize,
}

/// The sample that a step is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Input<'a> {
    Sample(&'a [f64]),
    /// A step past the end of a trace of `length` samples.
    Past {
        length: usize,
        after: After,
    },
}

/// The nodes and what they emitted last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    nodes: Vec<Node>,
    values: Vec<f64>,
    known: HashMap<OpId, NodeId>,
    aligned: HashMap<(NodeId, usize), NodeId>,
}

impl Stream {
    /// What node `id` emitted at sample `t`: a value, and the sample it is about.
    #[inline]
    pub(crate) fn emitted(&self, id: NodeId, t: usize) -> Option<(usize, f64)> {
        let at = t.checked_sub(self.nodes[id].delay)?;
        Some((at, self.values[id]))
    }

    /// Samples from one about which `id` speaks to the one at which it does.
    pub(crate) fn delay(&self, id: NodeId) -> usize {
        self.nodes[id].delay
    }

    /// The longest delay of all.
    pub(crate) fn longest(&self) -> usize {
        self.nodes.iter().map(|node| node.delay).max().unwrap_or(0)
    }

    /// Sample `t`.
    pub(crate) fn step(&mut self, plan: &Plan, t: usize, input: Input<'_>) {
        for id in 0..self.nodes.len() {
            let Node { kind, start, delay } = &mut self.nodes[id];
            if t < *start {
                continue;
            }
            let values = &self.values;
            let value = match kind {
                Kind::Leaf(leaf) => match input {
                    Input::Sample(sample) => plan.leaves[*leaf].at(sample),
                    Input::Past { after, .. } => after.value(),
                },
                Kind::Fixed(value) => *value,
                Kind::Pick(fold, kids) => kids.iter().fold(f64::NAN, |best, kid| fold.of(best, values[*kid])),
                Kind::Hold { from, steps, held } => hold(held, *steps, values[*from]),
                Kind::Slide(from, slide) => slide.push(values[*from]),
                Kind::Run { from, fold, best } => {
                    *best = fold.of(values[*from], *best);
                    *best
                }
                Kind::Until { left, right, window } => window.push(values[*left], values[*right]),
                Kind::Since { left, right, outer, last } => {
                    *last = outer.of(values[*right], outer.dual().onto(*last, values[*left]));
                    *last
                }
                Kind::Gate { gate, fold, kids } => {
                    kids.iter().fold(values[*gate], |best, kid| fold.onto(best, values[*kid]))
                }
            };
            // Past the end of a trace that simply ends, nothing has a value, even what looks back.
            let gone = matches!(input, Input::Past { length, after: After::Nothing } if t >= length + *delay);
            self.values[id] = if gone { f64::NAN } else { value };
        }
    }

    /// The node of operation `op`, whose delay the plan knows to be bounded.
    pub(crate) fn node(&mut self, plan: &Plan, op: OpId) -> NodeId {
        if let Some(known) = self.known.get(&op) {
            return *known;
        }
        let id = match &plan.ops[op] {
            Op::Leaf(leaf) => self.add(Kind::Leaf(*leaf), 0, 0),
            Op::Fixed(value) => self.add(Kind::Fixed(*value), 0, 0),
            Op::Pick { fold, kids } => {
                let (kids, delay) = self.together(plan, kids);
                self.add(Kind::Pick(*fold, kids), delay, delay)
            }
            Op::Ahead { fold, steps, kid } => {
                let kid = self.node(plan, *kid);
                self.slide(*fold, kid, steps.width().unwrap_or(1), steps.reach())
            }
            Op::Behind { fold, steps, kid } => self.behind(plan, *fold, *steps, *kid),
            Op::Until { outer, steps, left, right } => self.until(plan, *outer, *steps, [*left, *right]),
            Op::Since { outer, left, right } => {
                let (sides, delay) = self.together(plan, &[*left, *right]);
                let kind = Kind::Since { left: sides[0], right: sides[1], outer: *outer, last: f64::NAN };
                self.add(kind, delay, delay)
            }
            Op::Gate { fold, gate, kids, .. } => {
                let (all, delay) = self.together(plan, &[&[*gate], &kids[..]].concat());
                self.add(Kind::Gate { gate: all[0], fold: *fold, kids: all[1..].into() }, delay, delay)
            }
        };
        self.known.insert(op, id);
        id
    }

    /// A node that says what `id` says, but as late as `delay`.
    pub(crate) fn align(&mut self, id: NodeId, delay: usize) -> NodeId {
        let own = self.nodes[id].delay;
        if own == delay {
            return id;
        }
        if let Some(known) = self.aligned.get(&(id, delay)) {
            return *known;
        }
        let held = self.add(Kind::Hold { from: id, steps: delay - own, held: VecDeque::new() }, own, delay);
        self.aligned.insert((id, delay), held);
        held
    }

    /// The nodes of several operations, all as late as the latest.
    fn together(&mut self, plan: &Plan, ops: &[OpId]) -> (Box<[NodeId]>, usize) {
        let ids: Vec<NodeId> = ops.iter().map(|op| self.node(plan, *op)).collect();
        let delay = ids.iter().map(|id| self.nodes[*id].delay).max().unwrap_or(0);
        (ids.into_iter().map(|id| self.align(id, delay)).collect(), delay)
    }

    fn add(&mut self, kind: Kind, start: usize, delay: usize) -> NodeId {
        self.nodes.push(Node { kind, start, delay });
        self.values.push(f64::NAN);
        self.nodes.len() - 1
    }

    /// The extremum of the last `width` values of `from`, about the sample `later` before the last one.
    fn slide(&mut self, fold: Fold, from: NodeId, width: usize, later: usize) -> NodeId {
        let start = self.nodes[from].delay;
        self.add(Kind::Slide(from, Slide::new(fold, width)), start, start + later)
    }

    fn behind(&mut self, plan: &Plan, fold: Fold, steps: Steps, kid: OpId) -> NodeId {
        let mut from = self.node(plan, kid);
        let delay = self.nodes[from].delay;
        if steps.from > 0 {
            // Unlike `align`, this speaks about a later sample, not later about the same one.
            from = self.add(Kind::Hold { from, steps: steps.from, held: VecDeque::new() }, delay, delay);
        }
        match steps.width() {
            Some(width) => self.slide(fold, from, width, 0),
            None => self.add(Kind::Run { from, fold, best: f64::NAN }, delay, delay),
        }
    }

    /// Bounded `until`: a window of pairs, and before it the left side alone.
    fn until(&mut self, plan: &Plan, outer: Fold, steps: Steps, sides: [OpId; 2]) -> NodeId {
        let (sides, start) = self.together(plan, &sides);
        let (width, delay) = (steps.width().unwrap_or(1), start + steps.reach());
        let window = SlideUntil::new(outer, width);
        let witness = self.add(Kind::Until { left: sides[0], right: sides[1], window }, start, delay);
        if steps.from == 0 {
            return witness;
        }
        let before = self.align(sides[0], start + width);
        let slide = Kind::Slide(before, Slide::new(outer.dual(), steps.from));
        let left = self.add(slide, start + width, delay);
        self.add(Kind::Gate { gate: witness, fold: outer.dual(), kids: [left].into() }, delay, delay)
    }
}

/// Takes `value`, gives the one `steps` before.
fn hold(held: &mut VecDeque<f64>, steps: usize, value: f64) -> f64 {
    held.push_back(value);
    if held.len() > steps { held.pop_front().unwrap_or(f64::NAN) } else { f64::NAN }
}
