//! Extrema over windows of whole columns, in time linear in the length and independent of the window.
use crate::fold::Fold;
use crate::plan::Steps;

/// The values beyond the last one of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// No values: the trace ends.
    Nothing,
    /// The last value, forever.
    Last,
}

impl Beyond {
    fn value(self, column: &[f64]) -> f64 {
        match (self, column.last()) {
            (Beyond::Last, Some(last)) => *last,
            _ => f64::NAN,
        }
    }
}

/// Returns at each index the extremum of `x` over the window `steps` ahead. `dense` means that `x` contains no NaN.
pub(crate) fn ahead(fold: Fold, steps: Steps, mut x: Vec<f64>, beyond: Beyond, dense: bool) -> Vec<f64> {
    match steps.width() {
        Some(1) => {}
        Some(width) if width < x.len() => sliding(fold, &mut x, width, dense),
        _ => suffixes(fold, &mut x),
    }
    if steps.from == 0 { x } else { shift_ahead(&x, steps.from, beyond) }
}

/// Returns the extremum of `x` over the window `steps` ahead of its first element.
pub(crate) fn first(fold: Fold, steps: Steps, x: &[f64], beyond: Beyond) -> f64 {
    let end = steps.to.map_or(x.len(), |to| x.len().min(to + 1));
    let inside = extremum(fold, &x[steps.from.min(end)..end]);
    // Values beyond repeat the last one, so they add nothing to a window that begins inside.
    if steps.from < x.len() { inside } else { beyond.value(x) }
}

/// Returns the extremum of a slice. Computed in eight lanes: a single accumulator would form one dependency chain.
pub(crate) fn extremum(fold: Fold, x: &[f64]) -> f64 {
    let mut lanes = [f64::NAN; 8];
    let chunks = x.chunks_exact(lanes.len());
    let rest = chunks.remainder().iter().fold(f64::NAN, |best, value| fold.of(*value, best));
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane = fold.of(*value, *lane));
    }
    lanes.into_iter().fold(rest, |best, value| fold.of(value, best))
}

/// Returns at each index the extremum of `x` over the window `steps` behind; there are no values before the first.
pub(crate) fn behind(fold: Fold, steps: Steps, x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mut out = match steps.width() {
        Some(1) => x.to_vec(),
        Some(width) if width < n => {
            let mut out = prefixes(fold, &x[..width - 1]);
            let mut whole = x.to_vec();
            sliding(fold, &mut whole, width, false);
            out.extend_from_slice(&whole[..=n - width]);
            out
        }
        _ => prefixes(fold, x),
    };
    let from = steps.from.min(n);
    out.copy_within(..n - from, from);
    out[..from].fill(f64::NAN);
    out
}

/// Returns `x` shifted `by` elements towards the front.
pub(crate) fn shift_ahead(x: &[f64], by: usize, beyond: Beyond) -> Vec<f64> {
    let mut out = x[by.min(x.len())..].to_vec();
    out.resize(x.len(), beyond.value(x));
    out
}

/// Computes an unbounded `until` (outer max) or its dual.
pub(crate) fn until(outer: Fold, left: &[f64], right: &[f64]) -> Vec<f64> {
    let mut out = vec![f64::NAN; right.len()];
    let mut next = f64::NAN;
    for ((out, l), r) in out.iter_mut().zip(left).zip(right).rev() {
        next = outer.of(*r, outer.dual().onto(next, *l));
        *out = next;
    }
    out
}

/// Computes an unbounded `since` (outer max) or its dual.
pub(crate) fn since(outer: Fold, left: &[f64], right: &[f64]) -> Vec<f64> {
    let mut last = f64::NAN;
    let step = |(l, r): (&f64, &f64)| {
        last = outer.of(*r, outer.dual().onto(last, *l));
        last
    };
    left.iter().zip(right).map(step).collect()
}

fn suffixes(fold: Fold, x: &mut [f64]) {
    let mut best = f64::NAN;
    for value in x.iter_mut().rev() {
        best = fold.of(*value, best);
        *value = best;
    }
}

fn prefixes(fold: Fold, x: &[f64]) -> Vec<f64> {
    let mut best = f64::NAN;
    let step = |value: &f64| {
        best = fold.of(*value, best);
        best
    };
    x.iter().map(step).collect()
}

/// Replaces each `x[i]` with the extremum of `x[i..i + width]`, clipped at the end. Three comparisons per value for
/// any width: blocks of one width, with a running extremum from each side of every block (van Herk 1992; Gil and
/// Werman 1993).
fn sliding(fold: Fold, x: &mut [f64], width: usize, dense: bool) {
    match (fold, dense) {
        (Fold::Min, false) => sliding_by(x, width, f64::NAN, |a, b| Fold::Min.of(a, b)),
        (Fold::Max, false) => sliding_by(x, width, f64::NAN, |a, b| Fold::Max.of(a, b)),
        // These take one instruction each, while `of` needs several to skip NaN.
        (Fold::Min, true) => sliding_by(x, width, f64::INFINITY, |a, b| if a < b { a } else { b }),
        (Fold::Max, true) => sliding_by(x, width, f64::NEG_INFINITY, |a, b| if a > b { a } else { b }),
    }
}

/// Works in place: while a block is processed, the next one still holds its original values.
fn sliding_by(x: &mut [f64], width: usize, none: f64, of: impl Fn(f64, f64) -> f64) {
    let mut rest = x;
    while !rest.is_empty() {
        let (block, next) = rest.split_at_mut(width.min(rest.len()));
        let mut best = none;
        for value in block.iter_mut().rev() {
            best = of(*value, best);
            *value = best;
        }
        // Every window but the block's first reaches into the next block; its part there is a prefix extremum.
        let mut best = none;
        for (value, entering) in block[1..].iter_mut().zip(&*next) {
            best = of(best, *entering);
            *value = of(*value, best);
        }
        // If the next block is shorter, the last windows contain all of it.
        let entered = next.len().min(block.len() - 1);
        block[1 + entered..].iter_mut().for_each(|value| *value = of(*value, best));
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sliding_equals_the_definition() {
        for n in 1..20_usize {
            let x: Vec<f64> = (0..n).map(|i| f64::from(u32::try_from(i * 7 % 11).unwrap_or(0))).collect();
            for width in 1..=n + 1 {
                for (fold, dense) in [(Fold::Max, true), (Fold::Max, false), (Fold::Min, true), (Fold::Min, false)] {
                    let mut got = x.clone();
                    sliding(fold, &mut got, width, dense);
                    for (i, value) in got.iter().enumerate() {
                        let window = x[i..n.min(i + width)].iter().copied();
                        let expected = window.fold(f64::NAN, |a, b| fold.of(a, b));
                        assert_eq!(*value, expected, "n {n} width {width} {fold:?} at {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn windows_clip_at_both_ends() {
        let x = [3.0, 1.0, 2.0];
        let steps = Steps { from: 1, to: Some(2) };
        let clipped = ahead(Fold::Min, steps, x.to_vec(), Beyond::Nothing, true);
        assert_eq!(clipped[..2], [1.0, 2.0]);
        assert!(clipped[2].is_nan());
        assert_eq!(ahead(Fold::Min, steps, x.to_vec(), Beyond::Last, true), [1.0, 2.0, 2.0]);
        let past = behind(Fold::Min, steps, &x);
        assert!(past[0].is_nan());
        assert_eq!(past[1..], [3.0, 1.0]);
        assert!(behind(Fold::Min, Steps { from: 9, to: None }, &x).iter().all(|v| v.is_nan()));
    }
}
