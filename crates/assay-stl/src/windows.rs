//! Extrema over windows of whole columns: linear in the length, independent of the window.
use crate::fold::Fold;
use crate::plan::Steps;

/// What lies beyond the last value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// Nothing: the trace ends.
    Nothing,
    /// The last value, for ever.
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

/// At each place the extremum of `x` over `steps` ahead. `dense` says that `x` holds no "nothing".
pub(crate) fn ahead(fold: Fold, steps: Steps, mut x: Vec<f64>, beyond: Beyond, dense: bool) -> Vec<f64> {
    match steps.width() {
        Some(1) => {}
        Some(width) if width < x.len() => sliding(fold, &mut x, width, dense),
        _ => suffixes(fold, &mut x),
    }
    if steps.from == 0 { x } else { shift_ahead(&x, steps.from, beyond) }
}

/// The extremum of `x` over `steps` ahead of its first place.
pub(crate) fn first(fold: Fold, steps: Steps, x: &[f64], beyond: Beyond) -> f64 {
    let end = steps.to.map_or(x.len(), |to| x.len().min(to + 1));
    let inside = extremum(fold, &x[steps.from.min(end)..end]);
    // What lies beyond is the last value again, so it adds nothing to a window that reaches it from inside.
    if steps.from < x.len() { inside } else { beyond.value(x) }
}

/// In lanes: one running extremum would wait for itself at every value.
pub(crate) fn extremum(fold: Fold, x: &[f64]) -> f64 {
    let mut lanes = [f64::NAN; 8];
    let chunks = x.chunks_exact(lanes.len());
    let rest = chunks.remainder().iter().fold(f64::NAN, |best, value| fold.of(*value, best));
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane = fold.of(*value, *lane));
    }
    lanes.into_iter().fold(rest, |best, value| fold.of(value, best))
}

/// At each place the extremum of `x` over `steps` behind; before the first value there is nothing.
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

/// `x` brought `by` places forward.
pub(crate) fn shift_ahead(x: &[f64], by: usize, beyond: Beyond) -> Vec<f64> {
    let mut out = x[by.min(x.len())..].to_vec();
    out.resize(x.len(), beyond.value(x));
    out
}

/// Unbounded `until` (outer max) or its dual.
pub(crate) fn until(outer: Fold, left: &[f64], right: &[f64]) -> Vec<f64> {
    let mut out = vec![f64::NAN; right.len()];
    let mut next = f64::NAN;
    for ((out, l), r) in out.iter_mut().zip(left).zip(right).rev() {
        next = outer.of(*r, outer.dual().onto(next, *l));
        *out = next;
    }
    out
}

/// Unbounded `since` (outer max) or its dual.
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

/// The extremum of each `x[i..i + width]`, clipped at the end. Three comparisons a value whatever the width: blocks of
/// one width, a running extremum from each side of every block (van Herk 1992; Gil and Werman 1993).
fn sliding(fold: Fold, x: &mut [f64], width: usize, dense: bool) {
    match (fold, dense) {
        (Fold::Min, false) => sliding_by(x, width, f64::NAN, |a, b| Fold::Min.of(a, b)),
        (Fold::Max, false) => sliding_by(x, width, f64::NAN, |a, b| Fold::Max.of(a, b)),
        // One instruction each, where `of` needs several to pass over "nothing".
        (Fold::Min, true) => sliding_by(x, width, f64::INFINITY, |a, b| if a < b { a } else { b }),
        (Fold::Max, true) => sliding_by(x, width, f64::NEG_INFINITY, |a, b| if a > b { a } else { b }),
    }
}

/// In place: when a block is worked on, the next one still holds its own values.
fn sliding_by(x: &mut [f64], width: usize, none: f64, of: impl Fn(f64, f64) -> f64) {
    let mut rest = x;
    while !rest.is_empty() {
        let (block, next) = rest.split_at_mut(width.min(rest.len()));
        let mut best = none;
        for value in block.iter_mut().rev() {
            best = of(*value, best);
            *value = best;
        }
        // Every window but the one that begins the block reaches into the next, as far as a running extremum of that.
        let mut best = none;
        for (value, entering) in block[1..].iter_mut().zip(&*next) {
            best = of(best, *entering);
            *value = of(*value, best);
        }
        // Where the next block is shorter, the last windows hold all of it.
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
