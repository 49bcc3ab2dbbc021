//! A formula ready for evaluation: a table of operations in negation normal form, children before parents.
use crate::aggregate::Derived;
use crate::fold::Fold;
use crate::leaf::Leaf;

/// Index of an operation in its plan.
pub(crate) type OpId = usize;

/// A window in samples; `to` is `None` where it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) from: usize,
    pub(crate) to: Option<usize>,
}

impl Steps {
    pub(crate) const ALL: Steps = Steps { from: 0, to: None };

    /// How far the window's last finite end lies away.
    pub(crate) fn reach(self) -> usize {
        self.to.unwrap_or(self.from)
    }

    /// How many samples a bounded window holds.
    pub(crate) fn width(self) -> Option<usize> {
        self.to.map(|to| to - self.from + 1)
    }
}

/// One operation. Negations are gone: they have become the other extremum, and the predicate's other side.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// Index into [`Plan::leaves`].
    Leaf(usize),
    Fixed(f64),
    Pick {
        fold: Fold,
        kids: Vec<OpId>,
    },
    /// The extremum over the samples ahead: `always` (min), `eventually` (max).
    Ahead {
        fold: Fold,
        steps: Steps,
        kid: OpId,
    },
    /// The extremum over the samples behind: `historically` (min), `once` (max).
    Behind {
        fold: Fold,
        steps: Steps,
        kid: OpId,
    },
    /// `until` (outer max) and its dual (outer min).
    Until {
        outer: Fold,
        steps: Steps,
        left: OpId,
        right: OpId,
    },
    /// Unbounded `since` (outer max) and its dual; the bounded ones are made of it.
    Since {
        outer: Fold,
        left: OpId,
        right: OpId,
    },
    /// Nothing where `gate` is nothing, else the extremum of `gate` and `kids`.
    Gate {
        fold: Fold,
        gate: OpId,
        kids: Vec<OpId>,
        /// What nothing means at the outside of a formula.
        empty: f64,
    },
}

impl Op {
    /// The operations it reads.
    pub(crate) fn kids(&self) -> impl Iterator<Item = OpId> {
        let (few, many): ([Option<OpId>; 2], &[OpId]) = match self {
            Op::Leaf(_) | Op::Fixed(_) => ([None; 2], &[]),
            Op::Pick { kids, .. } => ([None; 2], kids),
            Op::Ahead { kid, .. } | Op::Behind { kid, .. } => ([Some(*kid), None], &[]),
            Op::Until { left, right, .. } | Op::Since { left, right, .. } => ([Some(*left), Some(*right)], &[]),
            Op::Gate { gate, kids, .. } => ([Some(*gate), None], kids),
        };
        few.into_iter().flatten().chain(many.iter().copied())
    }
}

/// What an operation needs, from its operands' needs. Kept in a table: operands are shared, so that walking down anew
/// could take time exponential in the depth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    /// Samples to wait for until the value is final; `None` if only the end of the trace settles it.
    pub(crate) delay: Option<usize>,
    /// After how many samples without news the value no longer changes.
    pub(crate) memory: usize,
    /// Every finite window on the deepest path, added up (saturating): what the horizon limit applies to.
    pub(crate) span: usize,
    /// Whether there is a value at every sample of every trace.
    pub(crate) never_empty: bool,
    /// Whether no temporal operator is below.
    pub(crate) instant: bool,
}

impl Facts {
    const LEAF: Self = Self { delay: Some(0), memory: 0, span: 0, never_empty: true, instant: true };

    /// Of `op`, whose operands' facts are in `known`.
    pub(crate) fn of(op: &Op, known: &[Facts]) -> Self {
        match op {
            Op::Leaf(_) | Op::Fixed(_) => Self::LEAF,
            Op::Pick { kids, .. } => {
                let never_empty = kids.iter().any(|kid| known[*kid].never_empty);
                Self { never_empty, ..Self::most(kids, known) }
            }
            Op::Ahead { steps, kid, .. } => Self::most(&[*kid], known).ahead(*steps, *kid, known),
            Op::Until { steps, left, right, .. } => Self::most(&[*left, *right], known).ahead(*steps, *right, known),
            Op::Behind { steps, kid, .. } => {
                let kid = known[*kid];
                let memory = kid.memory.saturating_add(steps.reach());
                let span = kid.span.saturating_add(steps.reach());
                Self { memory, span, never_empty: kid.never_empty && steps.from == 0, instant: false, ..kid }
            }
            Op::Since { left, right, .. } => {
                let never_empty = known[*right].never_empty;
                Self { never_empty, instant: false, ..Self::most(&[*left, *right], known) }
            }
            Op::Gate { gate, kids, .. } => {
                let all = Self::most(&[&kids[..], &[*gate]].concat(), known);
                Self { never_empty: known[*gate].never_empty, instant: false, ..all }
            }
        }
    }

    fn most(kids: &[OpId], known: &[Facts]) -> Self {
        kids.iter().map(|kid| known[*kid]).fold(Self::LEAF, |a, b| Self {
            delay: a.delay.zip(b.delay).map(|(a, b)| a.max(b)),
            memory: a.memory.max(b.memory),
            span: a.span.max(b.span),
            never_empty: a.never_empty && b.never_empty,
            instant: a.instant && b.instant,
        })
    }

    fn ahead(self, steps: Steps, witness: OpId, known: &[Facts]) -> Self {
        Self {
            delay: self.delay.zip(steps.to).map(|(kid, to)| kid.saturating_add(to)),
            span: self.span.saturating_add(steps.reach()),
            never_empty: steps.from == 0 && known[witness].never_empty,
            instant: false,
            ..self
        }
    }
}

/// A bound formula.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) ops: Vec<Op>,
    /// One an operation.
    pub(crate) facts: Vec<Facts>,
    pub(crate) root: OpId,
    /// Positive at a place where the formula was exercised; `None` where it always is (see `Outcome::vacuous`).
    pub(crate) active: Option<OpId>,
    /// What an outermost unbounded `always` (or a conjunction of them) holds of every sample.
    pub(crate) body: Option<OpId>,
    /// Columns that any predicate reads.
    pub(crate) used: Vec<usize>,
    /// How many columns a sample has.
    pub(crate) width: usize,
    /// Columns that are put behind those of the samples.
    pub(crate) derived: Vec<Derived>,
}

impl Plan {
    /// How many columns a sample has with the derived ones.
    pub(crate) fn columns(&self) -> usize {
        self.width + self.derived.len()
    }

    /// The value of an operation that has none, at the outside of a formula.
    pub(crate) fn empty(&self, op: OpId) -> f64 {
        match &self.ops[op] {
            Op::Ahead { fold, .. } | Op::Behind { fold, .. } => fold.empty(),
            Op::Until { outer, .. } | Op::Since { outer, .. } => outer.empty(),
            Op::Gate { empty, .. } => *empty,
            Op::Leaf(_) | Op::Fixed(_) | Op::Pick { .. } => f64::NEG_INFINITY,
        }
    }

    /// The operations at the outside of `root`, below no temporal operator: those of the result that are not `Pick`.
    /// Children come before parents, each once.
    pub(crate) fn outside(&self, root: OpId) -> Vec<OpId> {
        let mut reached = vec![false; root + 1];
        reached[root] = true;
        for op in (0..=root).rev() {
            if let (true, Op::Pick { kids, .. }) = (reached[op], &self.ops[op]) {
                kids.iter().for_each(|kid| reached[*kid] = true);
            }
        }
        (0..=root).filter(|op| reached[*op]).collect()
    }
}
