//! A formula ready for evaluation: a table of operations in negation normal form, children before parents.
use crate::fold::Fold;
use crate::predicate::Predicate;
use crate::syntax::Aggregate;

/// Index of an operation in its plan.
pub(crate) type OpId = usize;

/// A window in samples; `to` is `None` if it is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) from: usize,
    pub(crate) to: Option<usize>,
}

impl Steps {
    pub(crate) const ALL: Steps = Steps { from: 0, to: None };

    /// Returns the distance of the window's last finite end in samples.
    pub(crate) fn reach(self) -> usize {
        self.to.unwrap_or(self.from)
    }

    /// Returns the number of samples in a bounded window.
    pub(crate) fn width(self) -> Option<usize> {
        self.to.map(|to| to - self.from + 1)
    }
}

/// One operation. There are no negations: they have become the other extremum, or the opposite comparison.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// Index into [`EvaluationPlan::predicates`].
    Predicate(usize),
    Fixed(f64),
    Extremum {
        fold: Fold,
        operands: Vec<OpId>,
    },
    /// The extremum over future samples: `always` (min), `eventually` (max).
    Ahead {
        fold: Fold,
        steps: Steps,
        operand: OpId,
    },
    /// The extremum over past samples: `historically` (min), `once` (max).
    Behind {
        fold: Fold,
        steps: Steps,
        operand: OpId,
    },
    /// `until` (outer max) and its dual (outer min).
    Until {
        outer: Fold,
        steps: Steps,
        left: OpId,
        right: OpId,
    },
    /// Unbounded `since` (outer max) and its dual; bounded ones are rewritten to it.
    Since {
        outer: Fold,
        left: OpId,
        right: OpId,
    },
    /// NaN where `gate` is NaN, else the extremum of `gate` and `operands`.
    Gate {
        fold: Fold,
        gate: OpId,
        operands: Vec<OpId>,
        /// The value of NaN at the outermost level of a formula.
        empty: f64,
    },
}

impl Op {
    /// Returns the operations that it reads.
    pub(crate) fn operands(&self) -> impl Iterator<Item = OpId> {
        let (few, many): ([Option<OpId>; 2], &[OpId]) = match self {
            Op::Predicate(_) | Op::Fixed(_) => ([None; 2], &[]),
            Op::Extremum { operands, .. } => ([None; 2], operands),
            Op::Ahead { operand, .. } | Op::Behind { operand, .. } => ([Some(*operand), None], &[]),
            Op::Until { left, right, .. } | Op::Since { left, right, .. } => ([Some(*left), Some(*right)], &[]),
            Op::Gate { gate, operands, .. } => ([Some(*gate), None], operands),
        };
        few.into_iter().flatten().chain(many.iter().copied())
    }
}

/// Properties of an operation, computed from those of its operands. Kept in a table: operands are shared, so a
/// recursive computation could take time exponential in the depth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    /// Number of further samples after which the value is final; `None` if only the end of the trace settles it.
    pub(crate) delay: Option<usize>,
    /// Number of samples without news after which the value no longer changes.
    pub(crate) memory: usize,
    /// Sum of all finite windows on the deepest path (saturating), to which the horizon limit applies.
    pub(crate) span: usize,
    /// True if there is a value at every sample of every trace.
    pub(crate) never_empty: bool,
    /// True if it contains no temporal operator.
    pub(crate) instant: bool,
}

impl Facts {
    const INSTANT: Self = Self { delay: Some(0), memory: 0, span: 0, never_empty: true, instant: true };

    /// Computes the facts of `op`; those of its operands are in `known`.
    pub(crate) fn of(op: &Op, known: &[Facts]) -> Self {
        match op {
            Op::Predicate(_) | Op::Fixed(_) => Self::INSTANT,
            Op::Extremum { operands, .. } => {
                let never_empty = operands.iter().any(|operand| known[*operand].never_empty);
                Self { never_empty, ..Self::most(operands, known) }
            }
            Op::Ahead { steps, operand, .. } => Self::most(&[*operand], known).ahead(*steps, *operand, known),
            Op::Until { steps, left, right, .. } => Self::most(&[*left, *right], known).ahead(*steps, *right, known),
            Op::Behind { steps, operand, .. } => {
                let operand = known[*operand];
                let memory = operand.memory.saturating_add(steps.reach());
                let span = operand.span.saturating_add(steps.reach());
                Self { memory, span, never_empty: operand.never_empty && steps.from == 0, instant: false, ..operand }
            }
            Op::Since { left, right, .. } => {
                let never_empty = known[*right].never_empty;
                Self { never_empty, instant: false, ..Self::most(&[*left, *right], known) }
            }
            Op::Gate { gate, operands, .. } => {
                let all = Self::most(&[&operands[..], &[*gate]].concat(), known);
                Self { never_empty: known[*gate].never_empty, instant: false, ..all }
            }
        }
    }

    fn most(operands: &[OpId], known: &[Facts]) -> Self {
        operands.iter().map(|operand| known[*operand]).fold(Self::INSTANT, |a, b| Self {
            delay: a.delay.zip(b.delay).map(|(a, b)| a.max(b)),
            memory: a.memory.max(b.memory),
            span: a.span.max(b.span),
            never_empty: a.never_empty && b.never_empty,
            instant: a.instant && b.instant,
        })
    }

    fn ahead(self, steps: Steps, witness: OpId, known: &[Facts]) -> Self {
        Self {
            delay: self.delay.zip(steps.to).map(|(operand, to)| operand.saturating_add(to)),
            span: self.span.saturating_add(steps.reach()),
            never_empty: steps.from == 0 && known[witness].never_empty,
            instant: false,
            ..self
        }
    }
}

/// A column derived from others.
#[derive(Debug, Clone)]
pub(crate) struct DerivedColumn {
    pub(crate) aggregate: Aggregate,
    /// Number of samples in the window, including the current one; `None` for all samples so far.
    pub(crate) width: Option<usize>,
    pub(crate) source: AggregateSource,
    /// Sample period in seconds.
    pub(crate) period_s: f64,
}

/// The input of an aggregate.
#[derive(Debug, Clone)]
pub(crate) enum AggregateSource {
    Number(Predicate),
    /// Operations without temporal operators: one that is positive where a formula holds, one that is positive where
    /// its negation holds. Neither is positive where a signal was not measured.
    Truth {
        holds: OpId,
        fails: OpId,
    },
}

/// A bound formula, ready for evaluation.
#[derive(Debug, Clone)]
pub(crate) struct EvaluationPlan {
    pub(crate) predicates: Vec<Predicate>,
    pub(crate) ops: Vec<Op>,
    /// One per operation.
    pub(crate) facts: Vec<Facts>,
    pub(crate) root: OpId,
    /// Positive where the formula was exercised; `None` if it always is (see `TraceEvaluation::vacuous`).
    pub(crate) active: Option<OpId>,
    /// The body of an outermost unbounded `always` (or of a conjunction of them).
    pub(crate) body: Option<OpId>,
    /// Columns that any predicate reads.
    pub(crate) used: Vec<usize>,
    /// Number of columns of a sample.
    pub(crate) width: usize,
    /// Columns appended to those of the samples.
    pub(crate) derived: Vec<DerivedColumn>,
}

impl EvaluationPlan {
    /// Returns the number of columns of a sample including the derived ones.
    pub(crate) fn columns(&self) -> usize {
        self.width + self.derived.len()
    }

    /// Returns the value at the outermost level of a formula of an operation that has none.
    pub(crate) fn empty(&self, op: OpId) -> f64 {
        match &self.ops[op] {
            Op::Ahead { fold, .. } | Op::Behind { fold, .. } => fold.empty(),
            Op::Until { outer, .. } | Op::Since { outer, .. } => outer.empty(),
            Op::Gate { empty, .. } => *empty,
            Op::Predicate(_) | Op::Fixed(_) | Op::Extremum { .. } => f64::NEG_INFINITY,
        }
    }

    /// Returns the operations at the outermost level of `root`: those not inside a temporal operator, each once,
    /// operands first.
    pub(crate) fn outside(&self, root: OpId) -> Vec<OpId> {
        let mut reached = vec![false; root + 1];
        reached[root] = true;
        for op in (0..=root).rev() {
            if let (true, Op::Extremum { operands, .. }) = (reached[op], &self.ops[op]) {
                operands.iter().for_each(|operand| reached[*operand] = true);
            }
        }
        (0..=root).filter(|op| reached[*op]).collect()
    }
}
