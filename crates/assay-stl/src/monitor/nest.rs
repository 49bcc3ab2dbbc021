//! Nested unbounded future operators (`always (a implies eventually b)`) in constant memory.
//!
//! At each sample the value of every such operator is a minimum or maximum of settled values and of its own value at
//! the next sample. Composed, they make the formula's value at the first sample a function of the operators' values at
//! the next sample alone. This function is monotone and composed of minima and maxima, so it is determined by its
//! values where each argument is `-inf` or `+inf`. Only that table is kept.
use super::stream::{NodeId, Stream};
use crate::fold::Fold;
use crate::limits::MAX_NESTED_UNBOUNDED;
use crate::plan::{EvaluationPlan, Op, OpId, Steps};

#[derive(Debug, Clone)]
enum NestNode {
    Settled(NodeId),
    Extremum(Fold, Box<[usize]>),
    /// `always` or `eventually`, with its index among the operators.
    Ahead {
        fold: Fold,
        operator: usize,
        body: usize,
    },
    Until {
        outer: Fold,
        operator: usize,
        left: usize,
        right: usize,
    },
}

/// The outermost of the nested operators, and the table.
#[derive(Debug, Clone)]
pub(crate) struct Nest {
    parts: Vec<NestNode>,
    /// The operators' folds, inner ones first: the last is the outermost.
    operators: Vec<Fold>,
    /// The value at the first sample for each set of operators that are `+inf` at the next sample.
    table: Vec<f64>,
    /// The first sample in the window of the outermost operator.
    from: usize,
    delay: usize,
    /// Scratch space: settled values by node, then the values of nodes and operators.
    settled: Vec<f64>,
    values: Vec<f64>,
    found: Vec<f64>,
    next_table: Vec<f64>,
}

impl Nest {
    /// Creates the nest of the unbounded operation `root`; `None` if its nesting is not supported.
    pub(crate) fn new(plan: &EvaluationPlan, stream: &mut Stream, root: OpId) -> Option<Self> {
        let mut builder =
            NestBuilder { plan, stream, parts: Vec::new(), operators: Vec::new(), known: vec![None; root + 1] };
        let from = match plan.ops[root] {
            Op::Ahead { steps: Steps { from, to: None }, .. } => from,
            _ => 0,
        };
        builder.part(root, true)?;
        let NestBuilder { mut parts, operators, .. } = builder;
        let inputs = || parts.iter().filter_map(|part| if let NestNode::Settled(id) = part { Some(*id) } else { None });
        let delay = inputs().map(|id| stream.delay(id)).max().unwrap_or(0);
        for part in &mut parts {
            if let NestNode::Settled(id) = part {
                *id = stream.align(*id, delay);
            }
        }
        let (sets, count) = (1 << operators.len(), parts.len());
        let outermost = operators.len() - 1;
        let table: Vec<f64> = (0..sets).map(|set| infinite(set, outermost)).collect();
        Some(Self {
            settled: vec![f64::NAN; count],
            values: vec![f64::NAN; count],
            found: vec![f64::NAN; operators.len()],
            next_table: table.clone(),
            parts,
            operators,
            table,
            from,
            delay,
        })
    }

    /// Returns the delay in samples between the newest sample and the last one that was folded.
    pub(crate) fn delay(&self) -> usize {
        self.delay
    }

    /// Folds the values that the stream emitted at sample `t`.
    pub(crate) fn step(&mut self, stream: &Stream, t: usize) {
        if t < self.from + self.delay {
            return;
        }
        self.read(stream, t);
        for set in 0..self.table.len() {
            self.evaluate(|operator| infinite(set, operator));
            self.next_table[set] = look_up(&self.table, &self.found);
        }
        std::mem::swap(&mut self.table, &mut self.next_table);
    }

    /// Returns the minimum and the maximum value over all continuations.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        (self.table[0], self.table[self.table.len() - 1])
    }

    /// Returns the value if the trace ends here: all further windows are empty.
    pub(crate) fn ended(&self) -> f64 {
        let found: Vec<f64> = self.operators.iter().map(|fold| fold.empty()).collect();
        look_up(&self.table, &found)
    }

    /// Returns the value if the values that the stream emitted at sample `t` repeat forever.
    pub(crate) fn forever(&mut self, stream: &Stream, t: usize) -> f64 {
        self.read(stream, t);
        let empty: Vec<f64> = self.operators.iter().map(|fold| fold.empty()).collect();
        self.evaluate(|operator| empty[operator]);
        look_up(&self.table, &self.found)
    }

    fn read(&mut self, stream: &Stream, t: usize) {
        for (slot, part) in self.settled.iter_mut().zip(&self.parts) {
            if let NestNode::Settled(id) = part {
                *slot = stream.emitted(*id, t).map_or(f64::NAN, |(_, value)| value);
            }
        }
    }

    /// Computes the operators' values at one sample from those at the `next` one, into `found`.
    fn evaluate(&mut self, next: impl Fn(usize) -> f64) {
        let Self { parts, values, found, settled, .. } = self;
        for (i, part) in parts.iter().enumerate() {
            values[i] = match part {
                NestNode::Settled(_) => settled[i],
                NestNode::Extremum(fold, operands) => {
                    operands.iter().fold(f64::NAN, |best, operand| fold.of(best, values[*operand]))
                }
                NestNode::Ahead { fold, operator, body } => {
                    found[*operator] = fold.of(values[*body], next(*operator));
                    found[*operator]
                }
                NestNode::Until { outer, operator, left, right } => {
                    let later = outer.dual().onto(next(*operator), values[*left]);
                    found[*operator] = outer.of(values[*right], later);
                    found[*operator]
                }
            };
        }
    }
}

fn infinite(set: usize, operator: usize) -> f64 {
    if set >> operator & 1 == 1 { f64::INFINITY } else { f64::NEG_INFINITY }
}

/// Returns the function's value at `arguments`: the maximum over all thresholds of the minimum of the threshold and the
/// table's entry for the arguments that reach it.
fn look_up(table: &[f64], arguments: &[f64]) -> f64 {
    let mut best = table[0];
    for threshold in arguments {
        let reach =
            |set: usize, (operator, argument): (usize, &f64)| set | usize::from(argument >= threshold) << operator;
        let set = arguments.iter().enumerate().fold(0, reach);
        best = best.max(table[set].min(*threshold));
    }
    best
}

struct NestBuilder<'a> {
    plan: &'a EvaluationPlan,
    stream: &'a mut Stream,
    parts: Vec<NestNode>,
    operators: Vec<Fold>,
    known: Vec<Option<usize>>,
}

impl NestBuilder<'_> {
    fn part(&mut self, op: OpId, outermost: bool) -> Option<usize> {
        if let Some(known) = self.known[op] {
            return Some(known);
        }
        let part = if self.plan.facts[op].delay.is_some() {
            NestNode::Settled(self.stream.node(self.plan, op))
        } else {
            // An operator all of whose windows could be empty would need a third value in the table.
            match &self.plan.ops[op] {
                Op::Extremum { fold, operands } => {
                    let operands = operands.iter().map(|operand| self.part(*operand, false)).collect::<Option<_>>()?;
                    NestNode::Extremum(*fold, operands)
                }
                Op::Ahead { fold, steps, operand }
                    if outermost || (*steps == Steps::ALL && self.plan.facts[*operand].never_empty) =>
                {
                    steps.to.is_none().then_some(())?;
                    let body = self.part(*operand, false)?;
                    NestNode::Ahead { fold: *fold, operator: self.operator(*fold)?, body }
                }
                Op::Until { outer, steps: Steps::ALL, left, right }
                    if outermost || self.plan.facts[*right].never_empty =>
                {
                    let (left, right) = (self.part(*left, false)?, self.part(*right, false)?);
                    NestNode::Until { outer: *outer, operator: self.operator(*outer)?, left, right }
                }
                _ => return None,
            }
        };
        self.parts.push(part);
        self.known[op] = Some(self.parts.len() - 1);
        self.known[op]
    }

    fn operator(&mut self, fold: Fold) -> Option<usize> {
        (self.operators.len() < MAX_NESTED_UNBOUNDED).then(|| {
            self.operators.push(fold);
            self.operators.len() - 1
        })
    }
}
