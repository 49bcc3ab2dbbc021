//! The plan under construction, and the lowering of logic and temporal operators.

use std::collections::HashMap;

use crate::error::BindError;
use crate::fold::Fold;
use crate::plan::{DerivedColumn, Facts, Op, OpId, Steps};
use crate::predicate::Predicate;
use crate::syntax::{Formula, Id, Logic, Node, Pair, Temporal};

/// The form of a node: the node itself or its negation, with quantitative or Boolean semantics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NodeForm {
    pub(super) positive: bool,
    pub(super) crisp: bool,
}

impl NodeForm {
    pub(super) fn negated(self) -> Self {
        Self { positive: !self.positive, ..self }
    }

    /// Returns the fold of an operator in this form, given its fold when not negated.
    fn fold(self, fold: Fold) -> Fold {
        if self.positive { fold } else { fold.dual() }
    }
}

pub(super) struct Lowering<'a> {
    pub(super) formula: &'a Formula,
    pub(super) period_s: f64,
    pub(super) columns: &'a [usize],
    pub(super) predicates: Vec<Predicate>,
    pub(super) ops: Vec<Op>,
    pub(super) facts: Vec<Facts>,
    pub(super) derived: Vec<DerivedColumn>,
    /// Number of columns of a sample without the derived ones.
    pub(super) width: usize,
    pub(super) memo: HashMap<(Id, NodeForm), OpId>,
}

impl Lowering<'_> {
    pub(super) fn add(&mut self, op: Op) -> OpId {
        self.facts.push(Facts::of(&op, &self.facts));
        self.ops.push(op);
        self.ops.len() - 1
    }

    pub(super) fn extremum(&mut self, fold: Fold, operands: &[OpId]) -> OpId {
        let mut flat = Vec::new();
        for operand in operands {
            match &self.ops[*operand] {
                Op::Extremum { fold: inner, operands } if *inner == fold => flat.extend_from_slice(operands),
                _ => flat.push(*operand),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        if let [only] = flat[..] { only } else { self.add(Op::Extremum { fold, operands: flat }) }
    }

    pub(super) fn node(&mut self, id: Id, form: NodeForm) -> Result<OpId, BindError> {
        if let Some(done) = self.memo.get(&(id, form)) {
            return Ok(*done);
        }
        let op = match self.formula.nodes[id] {
            Node::Not(operand) => self.node(operand, form.negated())?,
            Node::Logic(logic, a, b) => self.logic(logic, a, b, form)?,
            Node::Temporal(temporal, interval, operand) => {
                let operand = self.node(operand, form)?;
                let steps = self.steps(temporal, interval)?;
                let (fold, ahead) = meaning(temporal);
                let fold = form.fold(fold);
                self.add(if ahead { Op::Ahead { fold, steps, operand } } else { Op::Behind { fold, steps, operand } })
            }
            Node::Pair(pair, interval, a, b) => {
                let (left, right) = (self.node(a, form)?, self.node(b, form)?);
                let steps = self.interval(interval)?;
                let outer = form.fold(Fold::Max);
                match pair {
                    Pair::Until => self.add(Op::Until { outer, steps, left, right }),
                    Pair::Since => self.since(outer, steps, left, right),
                }
            }
            Node::Compare(comparison, a, b) => self.predicate(comparison, a, b, form)?,
            // The parser rejects a number where a formula is expected.
            Node::Number(_)
            | Node::Signal(_)
            | Node::Minus(_)
            | Node::Abs(_)
            | Node::Arithmetic(..)
            | Node::Aggregate(..) => self.add(Op::Fixed(f64::NEG_INFINITY)),
        };
        self.memo.insert((id, form), op);
        Ok(op)
    }

    fn logic(&mut self, logic: Logic, a: Id, b: Id, form: NodeForm) -> Result<OpId, BindError> {
        let not = form.negated();
        Ok(match logic {
            Logic::And | Logic::Or => {
                let operands = [self.node(a, form)?, self.node(b, form)?];
                self.extremum(form.fold(if logic == Logic::And { Fold::Min } else { Fold::Max }), &operands)
            }
            Logic::Implies => {
                let operands = [self.node(a, not)?, self.node(b, form)?];
                self.extremum(form.fold(Fold::Max), &operands)
            }
            Logic::Iff | Logic::Xor => {
                let plain = NodeForm { positive: true, ..form };
                let [a, not_a] = [self.node(a, plain)?, self.node(a, plain.negated())?];
                let [b, not_b] = [self.node(b, plain)?, self.node(b, plain.negated())?];
                if (logic == Logic::Iff) == form.positive {
                    let sides = [self.extremum(Fold::Max, &[not_a, b]), self.extremum(Fold::Max, &[a, not_b])];
                    self.extremum(Fold::Min, &sides)
                } else {
                    let sides = [self.extremum(Fold::Min, &[a, not_b]), self.extremum(Fold::Min, &[not_a, b])];
                    self.extremum(Fold::Max, &sides)
                }
            }
        })
    }

    /// Adds a bounded `since`: a witness in the window, the unbounded `since` at the window's near end, and the left
    /// side from there on (the discrete form of Donzé, Ferrère and Maler 2013, lemma 2).
    fn since(&mut self, outer: Fold, steps: Steps, left: OpId, right: OpId) -> OpId {
        let whole = self.add(Op::Since { outer, left, right });
        if steps == Steps::ALL {
            return whole;
        }
        let gate = self.add(Op::Behind { fold: outer, steps, operand: right });
        let near = Steps { from: steps.from, to: Some(steps.from) };
        let mut operands = vec![self.add(Op::Behind { fold: outer, steps: near, operand: whole })];
        if steps.from > 0 {
            let after = Steps { from: 0, to: Some(steps.from - 1) };
            operands.push(self.add(Op::Behind { fold: outer.dual(), steps: after, operand: left }));
        }
        self.add(Op::Gate { fold: outer.dual(), gate, operands, empty: outer.empty() })
    }

    /// Returns the body of an outermost unbounded `always`, or the conjunction of the bodies if there are several.
    pub(super) fn body(&mut self, root: OpId) -> Option<OpId> {
        let inner = |op: &Op| match op {
            Op::Ahead { fold: Fold::Min, steps: Steps::ALL, operand } => Some(*operand),
            _ => None,
        };
        if let Op::Extremum { fold: Fold::Min, operands } = &self.ops[root] {
            let bodies = operands.iter().map(|operand| inner(&self.ops[*operand])).collect::<Option<Vec<_>>>()?;
            return Some(self.extremum(Fold::Min, &bodies));
        }
        inner(&self.ops[root])
    }
}

/// Returns the fold of a temporal operator, and whether its window lies in the future. `next` is weak: it holds beyond
/// the end of the trace.
pub(super) fn meaning(temporal: Temporal) -> (Fold, bool) {
    match temporal {
        Temporal::Always | Temporal::Next => (Fold::Min, true),
        Temporal::Eventually => (Fold::Max, true),
        Temporal::Historically => (Fold::Min, false),
        Temporal::Once => (Fold::Max, false),
    }
}
