//! Offline evaluation of whole columns: every operation of the plan becomes one column, which is dropped after its
//! last use.
use crate::evaluation::{TraceEnd, TraceEvaluation};
use crate::fold::Fold;
use crate::plan::{EvaluationPlan, Op, OpId, Steps};
use crate::windows::{self, Beyond};

/// Number of samples per piece.
const PIECE: usize = 512;

/// The assumption about the samples after the recorded ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// There are no further samples.
    Nothing,
    /// Every predicate is `-inf`.
    Worst,
    /// Every predicate is `+inf`.
    Best,
    /// Like `Worst` for bounded windows; unbounded ones stop at the last recorded sample.
    PendingWorst,
    /// Like `Best` for bounded windows; unbounded ones stop at the last recorded sample.
    PendingBest,
}

impl Continuation {
    /// Returns the value of a predicate after the recorded samples.
    pub(crate) fn value(self) -> f64 {
        match self {
            Continuation::Nothing => f64::NAN,
            Continuation::Worst | Continuation::PendingWorst => f64::NEG_INFINITY,
            Continuation::Best | Continuation::PendingBest => f64::INFINITY,
        }
    }

    /// Returns true if unbounded windows stop at the last recorded sample.
    fn stops(self) -> bool {
        matches!(self, Continuation::PendingWorst | Continuation::PendingBest)
    }

    /// Returns the values beyond a column that is long enough to have settled.
    fn beyond(self) -> Beyond {
        if self == Continuation::Nothing { Beyond::Nothing } else { Beyond::Last }
    }
}

impl EvaluationPlan {
    /// Evaluates the formula over the first `n` samples of `columns`.
    pub(crate) fn outcome(&self, columns: &[&[f64]], n: usize, end: TraceEnd) -> TraceEvaluation {
        if n == 0 {
            return TraceEvaluation::EMPTY;
        }
        let first = |op, after| self.first(op, columns, n, after);
        let vacuous = self.active.is_some_and(|active| first(active, Continuation::Nothing) < 0.0);
        let robustness = first(self.root, Continuation::Nothing);
        match end {
            TraceEnd::Complete => TraceEvaluation::complete(robustness, vacuous),
            TraceEnd::Cut => {
                let interval = (first(self.root, Continuation::Worst), first(self.root, Continuation::Best));
                TraceEvaluation::cut(robustness, interval, vacuous)
            }
        }
    }

    /// Evaluates the formula at every sample; empty windows get the value that they have at the outermost level.
    pub(crate) fn each(&self, columns: &[&[f64]], n: usize, after: Continuation) -> Vec<f64> {
        let mut table: Vec<Vec<f64>> = vec![Vec::new(); self.root + 1];
        for op in self.outside(self.root) {
            table[op] = match &self.ops[op] {
                Op::Extremum { fold, operands } => (0..n)
                    .map(|i| operands.iter().fold(f64::NAN, |best, operand| fold.of(best, table[*operand][i])))
                    .collect(),
                _ => {
                    let mut out = self.column(op, columns, n, after);
                    out.truncate(n);
                    let empty = self.empty(op);
                    out.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = empty);
                    out
                }
            };
        }
        std::mem::take(&mut table[self.root])
    }

    /// Returns the value on one sample of an operation without temporal operators; `values` is scratch space for all
    /// operations up to it.
    pub(crate) fn instant(&self, op: OpId, sample: &[f64], values: &mut [f64]) -> f64 {
        for id in 0..=op {
            values[id] = match &self.ops[id] {
                Op::Predicate(predicate) => self.predicates[*predicate].at(sample),
                Op::Fixed(value) => *value,
                Op::Extremum { fold, operands } => {
                    operands.iter().fold(f64::NAN, |best, operand| fold.of(best, values[*operand]))
                }
                _ => f64::NAN,
            };
        }
        values[op]
    }

    /// Computes the column of operation `op` over the first `n` samples: `n` values, or more if samples are assumed
    /// (enough for the last value to repeat forever). NaN stands for "no value".
    pub(crate) fn column(&self, op: OpId, columns: &[&[f64]], n: usize, after: Continuation) -> Vec<f64> {
        let mut table = self.columns_of(&[op], columns, n, after);
        table[op].take().unwrap_or_default()
    }

    /// Returns the value of the formula `root` at the first of `n` samples. Never NaN if `n > 0`.
    pub(crate) fn first(&self, root: OpId, columns: &[&[f64]], n: usize, after: Continuation) -> f64 {
        let outside = self.outside(root);
        // Only one value of an outermost window is needed, so neither it nor predicates in it get columns of their own.
        let passing = |op: OpId| match &self.ops[op] {
            Op::Ahead { operand, .. } if after == Continuation::Nothing => self.passing(*operand),
            _ => None,
        };
        let source = |op: OpId| match &self.ops[op] {
            Op::Extremum { .. } => None,
            Op::Ahead { operand, .. } => Some(*operand),
            _ => Some(op),
        };
        let mut wanted = Vec::new();
        for op in &outside {
            match passing(*op) {
                Some((_, operands)) => wanted
                    .extend(operands.into_iter().filter(|operand| !matches!(self.ops[*operand], Op::Predicate(_)))),
                None => wanted.extend(source(*op)),
            }
        }
        let table = self.columns_of(&wanted, columns, n, after);
        let mut value = vec![f64::NAN; root + 1];
        for op in outside {
            let column = source(op).and_then(|source| table.get(source)?.as_deref()).unwrap_or_default();
            let found = match &self.ops[op] {
                Op::Extremum { fold, operands } => {
                    operands.iter().fold(f64::NAN, |best, operand| fold.of(best, value[*operand]))
                }
                Op::Ahead { fold, steps, .. } if let Some((inner, operands)) = passing(op) => {
                    self.extremum(*fold, *steps, inner, &operands, &table, columns, n)
                }
                Op::Ahead { fold, steps, .. } if steps.to.is_none() && after.stops() => {
                    windows::first(*fold, *steps, &column[..n], Beyond::Nothing)
                }
                Op::Ahead { fold, steps, .. } => windows::first(*fold, *steps, column, after.beyond()),
                _ => column.first().copied().unwrap_or(f64::NAN),
            };
            value[op] = if found.is_nan() { self.empty(op) } else { found };
        }
        value[root]
    }

    /// Returns the fold and operands of `op` if its values can be computed piece by piece: a predicate, or an extremum
    /// over predicates and columns.
    fn passing(&self, op: OpId) -> Option<(Fold, Vec<OpId>)> {
        match &self.ops[op] {
            Op::Predicate(_) => Some((Fold::Min, vec![op])),
            Op::Extremum { fold, operands }
                if !operands.iter().any(|operand| matches!(self.ops[*operand], Op::Extremum { .. })) =>
            {
                Some((*fold, operands.clone()))
            }
            _ => None,
        }
    }

    /// Returns the extremum over the window `steps` ahead of the first sample of the `inner` fold of `operands`,
    /// computed in pieces that stay in the processor's cache, without a column for values that are used once.
    #[expect(clippy::too_many_arguments, reason = "the state of one loop")]
    fn extremum(
        &self,
        fold: Fold,
        steps: Steps,
        inner: Fold,
        operands: &[OpId],
        table: &[Option<Vec<f64>>],
        columns: &[&[f64]],
        n: usize,
    ) -> f64 {
        let end = steps.to.map_or(n, |to| n.min(to + 1));
        let (mut piece, mut other) = ([0.0; PIECE], [0.0; PIECE]);
        let mut best = f64::NAN;
        for start in (steps.from.min(end)..end).step_by(PIECE) {
            let stop = end.min(start + PIECE);
            // A monitor keeps no columns that no predicate reads.
            let here: Vec<&[f64]> = columns.iter().map(|column| column.get(start..).unwrap_or_default()).collect();
            let fill = |operand: OpId, out: &mut [f64]| match &self.ops[operand] {
                Op::Predicate(predicate) => self.predicates[*predicate].fill(&here, out),
                _ => out.copy_from_slice(&table[operand].as_deref().unwrap_or_default()[start..stop]),
            };
            let piece = &mut piece[..stop - start];
            fill(operands[0], piece);
            for operand in &operands[1..] {
                let other = &mut other[..stop - start];
                fill(*operand, other);
                piece.iter_mut().zip(&*other).for_each(|(a, b)| *a = inner.of(*a, *b));
            }
            best = fold.of(best, windows::extremum(fold, piece));
        }
        best
    }

    /// Computes the columns of `wanted`, indexed by operation; all others are dropped.
    fn columns_of(&self, wanted: &[OpId], columns: &[&[f64]], n: usize, after: Continuation) -> Vec<Option<Vec<f64>>> {
        let end = wanted.iter().max().map_or(0, |last| last + 1);
        let mut uses = vec![0_usize; end];
        wanted.iter().for_each(|op| uses[*op] += 1);
        for op in (0..end).rev() {
            if uses[op] > 0 {
                self.ops[op].operands().for_each(|operand| uses[operand] += 1);
            }
        }
        let memory = (0..end).filter(|op| uses[*op] > 0).map(|op| self.facts[op].memory).max().unwrap_or(0);
        let length = if after == Continuation::Nothing { n } else { n + memory + 1 };
        let mut table: Vec<Option<Vec<f64>>> = vec![None; end];
        for op in 0..end {
            if uses[op] == 0 {
                continue;
            }
            for operand in self.ops[op].operands() {
                uses[operand] -= 1;
            }
            let column = self.compute(op, &mut table, &uses, columns, n, length, after);
            table[op] = Some(column);
            for operand in self.ops[op].operands().filter(|operand| uses[*operand] == 0) {
                table[operand] = None;
            }
        }
        table
    }

    /// Computes one column. `uses` is the number of uses of each column that remain after this one; columns that are
    /// no longer needed are modified in place.
    #[expect(clippy::too_many_arguments, reason = "the state of one loop")]
    fn compute(
        &self,
        op: OpId,
        table: &mut [Option<Vec<f64>>],
        uses: &[usize],
        columns: &[&[f64]],
        n: usize,
        length: usize,
        after: Continuation,
    ) -> Vec<f64> {
        let beyond = after.beyond();
        let stops = |steps: Steps| steps.to.is_none() && after.stops();
        let stopped = |mut out: Vec<f64>| {
            out.resize(length, f64::NAN);
            out
        };
        // The first operand, moved if this is its last use.
        let mut own = |operand: OpId| {
            if uses[operand] == 0 { table[operand].take() } else { table[operand].clone() }.unwrap_or_default()
        };
        let mut taken = match &self.ops[op] {
            Op::Extremum { operands, .. } => own(operands[0]),
            Op::Ahead { operand, .. } => own(*operand),
            Op::Gate { gate, .. } => own(*gate),
            _ => Vec::new(),
        };
        let of = |operand: OpId| table[operand].as_deref().unwrap_or_default();
        match &self.ops[op] {
            Op::Predicate(predicate) => {
                let mut out = vec![after.value(); length];
                self.predicates[*predicate].fill(columns, &mut out[..n]);
                out
            }
            Op::Fixed(value) => vec![*value; length],
            Op::Extremum { fold, operands } => combine(*fold, taken, operands[1..].iter().map(|operand| of(*operand))),
            Op::Ahead { fold, steps, operand } => {
                let dense = self.facts[*operand].never_empty && !after.stops();
                if stops(*steps) {
                    taken.truncate(n);
                    return stopped(windows::ahead(*fold, *steps, taken, Beyond::Nothing, dense));
                }
                windows::ahead(*fold, *steps, taken, beyond, dense)
            }
            Op::Behind { fold, steps, operand } => windows::behind(*fold, *steps, of(*operand)),
            Op::Until { outer, steps, left, right } if stops(*steps) => {
                stopped(until(*outer, *steps, &of(*left)[..n], &of(*right)[..n], Beyond::Nothing))
            }
            Op::Until { outer, steps, left, right } => until(*outer, *steps, of(*left), of(*right), beyond),
            Op::Since { outer, left, right } => windows::since(*outer, of(*left), of(*right)),
            Op::Gate { fold, operands, .. } => gated(*fold, taken, operands.iter().map(|operand| of(*operand))),
        }
    }
}

fn combine<'a>(fold: Fold, mut out: Vec<f64>, others: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    for other in others {
        out.iter_mut().zip(other).for_each(|(a, b)| *a = fold.of(*a, *b));
    }
    out
}

fn gated<'a>(fold: Fold, mut out: Vec<f64>, others: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    for other in others {
        out.iter_mut().zip(other).for_each(|(a, b)| *a = fold.onto(*a, *b));
    }
    out
}

/// Computes a bounded `until`: a witness in the window, the unbounded `until` where the window begins, and the left
/// side up to there (the discrete form of Donzé, Ferrère and Maler 2013, lemma 2).
fn until(outer: Fold, steps: Steps, left: &[f64], right: &[f64], beyond: Beyond) -> Vec<f64> {
    let whole = windows::until(outer, left, right);
    if steps == Steps::ALL {
        return whole;
    }
    let witness = windows::ahead(outer, steps, right.to_vec(), beyond, false);
    let mut limits = vec![windows::shift_ahead(&whole, steps.from, beyond)];
    if let Some(last) = steps.from.checked_sub(1) {
        limits.push(windows::ahead(outer.dual(), Steps { from: 0, to: Some(last) }, left.to_vec(), beyond, false));
    }
    gated(outer.dual(), witness, limits.iter().map(Vec::as_slice))
}
