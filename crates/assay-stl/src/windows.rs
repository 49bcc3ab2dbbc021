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

/// At each place the extremum of `x` over `steps` ahead.
pub(crate) fn ahead(fold: Fold, steps: Steps, x: &[f64], beyond: Beyond) -> Vec<f64> {
    let found = match steps.width() {
        Some(1) => x.to_vec(),
        Some(width) if width < x.len() => sliding(fold, x, width),
        _ => suffixes(fold, x),
    };
    if steps.from == 0 { found } else { shift_ahead(&found, steps.from, beyond) }
}

/// The extremum of `x` over `steps` ahead of its first place.
pub(crate) fn first(fold: Fold, steps: Steps, x: &[f64], beyond: Beyond) -> f64 {
    let end = steps.to.map_or(x.len(), |to| x.len().min(to + 1));
    let inside = extremum(fold, &x[steps.from.min(end)..end]);
    // What lies beyond is the last value again, so it adds nothing to a window that reaches it from inside.
    if steps.from < x.len() { inside } else { beyond.value(x) }
}

/// In lanes: one running extremum would wait for itself at every value.
fn extremum(fold: Fold, x: &[f64]) -> f64 {
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
            out.extend_from_slice(&sliding(fold, x, width)[..=n - width]);
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

fn suffixes(fold: Fold, x: &[f64]) -> Vec<f64> {
    let mut out = x.to_vec();
    let mut best = f64::NAN;
    for value in out.iter_mut().rev() {
        best = fold.of(*value, best);
        *value = best;
    }
    out
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
fn sliding(fold: Fold, x: &[f64], width: usize) -> Vec<f64> {
    match fold {
        Fold::Min => sliding_by(x, width, |a, b| Fold::Min.of(a, b)),
        Fold::Max => sliding_by(x, width, |a, b| Fold::Max.of(a, b)),
    }
}

fn sliding_by(x: &[f64], width: usize, of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let mut out = x.to_vec();
    for block in out.chunks_mut(width) {
        let mut best = f64::NAN;
        for value in block.iter_mut().rev() {
            best = of(*value, best);
            *value = best;
        }
    }
    // Every window but those that begin a block reaches into the next one, as far as that block's running extremum.
    for start in (width..x.len()).step_by(width) {
        let block = &x[start..x.len().min(start + width)];
        let mut best = f64::NAN;
        for (offset, value) in out[start - width + 1..start].iter_mut().enumerate() {
            if let Some(next) = block.get(offset) {
                best = of(best, *next);
            }
            *value = of(*value, best);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sliding_equals_the_definition() {
        for n in 1..20_usize {
            let x: Vec<f64> = (0..n).map(|i| f64::from(u32::try_from(i * 7 % 11).unwrap_or(0))).collect();
            for width in 1..=n + 1 {
                let got = sliding(Fold::Max, &x, width);
                for (i, value) in got.iter().enumerate() {
                    let window = &x[i..n.min(i + width)];
                    assert_eq!(*value, window.iter().copied().fold(f64::NAN, f64::max), "n {n} width {width} at {i}");
                }
            }
        }
    }

    #[test]
    fn windows_clip_at_both_ends() {
        let x = [3.0, 1.0, 2.0];
        let steps = Steps { from: 1, to: Some(2) };
        let clipped = ahead(Fold::Min, steps, &x, Beyond::Nothing);
        assert_eq!(clipped[..2], [1.0, 2.0]);
        assert!(clipped[2].is_nan());
        assert_eq!(ahead(Fold::Min, steps, &x, Beyond::Last), [1.0, 2.0, 2.0]);
        let past = behind(Fold::Min, steps, &x);
        assert!(past[0].is_nan());
        assert_eq!(past[1..], [3.0, 1.0]);
        assert!(behind(Fold::Min, Steps { from: 9, to: None }, &x).iter().all(|v| v.is_nan()));
    }
}
