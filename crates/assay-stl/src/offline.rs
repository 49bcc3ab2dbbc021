//! Whole columns at once: every operation of the plan becomes one column, forgotten after its last use.
use crate::fold::Fold;
use crate::plan::{Op, OpId, Plan, Steps};
use crate::windows::{self, Beyond};

/// What is assumed about samples after the recorded ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// There are none.
    Nothing,
    /// Every predicate is as false as can be.
    Worst,
    /// Every predicate is as true as can be.
    Best,
}

impl After {
    /// The value of a predicate there.
    pub(crate) fn value(self) -> f64 {
        match self {
            After::Nothing => f64::NAN,
            After::Worst => f64::NEG_INFINITY,
            After::Best => f64::INFINITY,
        }
    }

    /// What lies beyond a column that is long enough to have settled.
    fn beyond(self) -> Beyond {
        if self == After::Nothing { Beyond::Nothing } else { Beyond::Last }
    }
}

impl Plan {
    /// The column of operation `op` over the first `n` samples: `n` values, or more where samples are assumed (enough
    /// for the last value to repeat for ever). "Nothing" is NaN.
    pub(crate) fn column(&self, op: OpId, columns: &[&[f64]], n: usize, after: After) -> Vec<f64> {
        let mut table = self.columns_of(&[op], columns, n, after);
        table[op].take().unwrap_or_default()
    }

    /// The value at the outside of the formula `root`, at the first of `n` samples. Never NaN if `n > 0`.
    pub(crate) fn first(&self, root: OpId, columns: &[&[f64]], n: usize, after: After) -> f64 {
        let outside = self.outside(root);
        // Of an outermost window only one value is needed, so it gets no column of its own.
        let source = |op: OpId| match &self.ops[op] {
            Op::Pick { .. } => None,
            Op::Ahead { kid, .. } => Some(*kid),
            _ => Some(op),
        };
        let wanted: Vec<OpId> = outside.iter().filter_map(|op| source(*op)).collect();
        let table = self.columns_of(&wanted, columns, n, after);
        let mut value = vec![f64::NAN; root + 1];
        for op in outside {
            let column = source(op).and_then(|source| table[source].as_deref()).unwrap_or_default();
            let found = match &self.ops[op] {
                Op::Pick { fold, kids } => kids.iter().fold(f64::NAN, |best, kid| fold.of(best, value[*kid])),
                Op::Ahead { fold, steps, .. } => windows::first(*fold, *steps, column, after.beyond()),
                _ => column.first().copied().unwrap_or(f64::NAN),
            };
            value[op] = if found.is_nan() { self.empty(op) } else { found };
        }
        value[root]
    }

    /// The columns of `wanted`, by operation; the others are gone.
    fn columns_of(&self, wanted: &[OpId], columns: &[&[f64]], n: usize, after: After) -> Vec<Option<Vec<f64>>> {
        let end = wanted.iter().max().map_or(0, |last| last + 1);
        let mut uses = vec![0_usize; end];
        wanted.iter().for_each(|op| uses[*op] += 1);
        for op in (0..end).rev() {
            if uses[op] > 0 {
                self.ops[op].kids().for_each(|kid| uses[kid] += 1);
            }
        }
        let memory = (0..end).filter(|op| uses[*op] > 0).map(|op| self.facts[op].memory).max().unwrap_or(0);
        let length = if after == After::Nothing { n } else { n + memory + 1 };
        let mut table: Vec<Option<Vec<f64>>> = vec![None; end];
        for op in 0..end {
            if uses[op] == 0 {
                continue;
            }
            let column = self.compute(op, &table, columns, n, length, after);
            table[op] = Some(column);
            for kid in self.ops[op].kids() {
                uses[kid] -= 1;
                if uses[kid] == 0 {
                    table[kid] = None;
                }
            }
        }
        table
    }

    fn compute(
        &self,
        op: OpId,
        table: &[Option<Vec<f64>>],
        columns: &[&[f64]],
        n: usize,
        length: usize,
        after: After,
    ) -> Vec<f64> {
        let of = |kid: OpId| table[kid].as_deref().unwrap_or_default();
        let beyond = after.beyond();
        match &self.ops[op] {
            Op::Leaf(leaf) => {
                let mut out = vec![after.value(); length];
                self.leaves[*leaf].fill(columns, &mut out[..n]);
                out
            }
            Op::Fixed(value) => vec![*value; length],
            Op::Pick { fold, kids } => combine(*fold, of(kids[0]), kids[1..].iter().map(|kid| of(*kid))),
            Op::Ahead { fold, steps, kid } => windows::ahead(*fold, *steps, of(*kid), beyond),
            Op::Behind { fold, steps, kid } => windows::behind(*fold, *steps, of(*kid)),
            Op::Until { outer, steps, left, right } => until(*outer, *steps, of(*left), of(*right), beyond),
            Op::Since { outer, left, right } => windows::since(*outer, of(*left), of(*right)),
            Op::Gate { fold, gate, kids, .. } => gated(*fold, of(*gate), kids.iter().map(|kid| of(*kid))),
        }
    }
}

fn combine<'a>(fold: Fold, first: &[f64], others: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    let mut out = first.to_vec();
    for other in others {
        out.iter_mut().zip(other).for_each(|(a, b)| *a = fold.of(*a, *b));
    }
    out
}

fn gated<'a>(fold: Fold, gate: &[f64], others: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    let mut out = gate.to_vec();
    for other in others {
        out.iter_mut().zip(other).for_each(|(a, b)| *a = fold.onto(*a, *b));
    }
    out
}

/// Bounded `until`: some witness in the window, the unbounded `until` where the window begins, the left side up to
/// there (the discrete form of Donzé, Ferrère and Maler 2013, lemma 2).
fn until(outer: Fold, steps: Steps, left: &[f64], right: &[f64], beyond: Beyond) -> Vec<f64> {
    let whole = windows::until(outer, left, right);
    if steps == Steps::ALL {
        return whole;
    }
    let witness = windows::ahead(outer, steps, right, beyond);
    let mut limits = vec![windows::shift_ahead(&whole, steps.from, beyond)];
    if let Some(last) = steps.from.checked_sub(1) {
        limits.push(windows::ahead(outer.dual(), Steps { from: 0, to: Some(last) }, left, beyond));
    }
    gated(outer.dual(), &witness, limits.iter().map(Vec::as_slice))
}
