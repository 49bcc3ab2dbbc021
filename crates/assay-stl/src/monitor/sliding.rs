//! Sliding-window extrema in amortised constant time, with memory of at most one window.
use std::collections::VecDeque;

use crate::fold::Fold;

/// The extremum of the last `width` values (Lemire 2006: only values that can still become the extremum are kept).
#[derive(Debug, Clone)]
pub(crate) struct SlidingExtremum {
    fold: Fold,
    width: usize,
    count: usize,
    candidates: VecDeque<(usize, f64)>,
}

impl SlidingExtremum {
    pub(crate) fn new(fold: Fold, width: usize) -> Self {
        Self { fold, width, count: 0, candidates: VecDeque::new() }
    }

    /// Adds `value` (NaN for none) and returns the extremum.
    pub(crate) fn push(&mut self, value: f64) -> f64 {
        self.count += 1;
        if !value.is_nan() {
            while self.candidates.back().is_some_and(|(_, last)| self.fold.prefers(value, *last)) {
                self.candidates.pop_back();
            }
            self.candidates.push_back((self.count, value));
        }
        while self.candidates.front().is_some_and(|(at, _)| at + self.width <= self.count) {
            self.candidates.pop_front();
        }
        self.candidates.front().map_or(f64::NAN, |(_, best)| *best)
    }
}

/// A segment of an `until` window: its value if the segment were the whole window, and the left side's extremum over
/// it. Segments join associatively, which makes a sliding window of them possible.
#[derive(Debug, Clone, Copy)]
struct UntilSegment {
    value: f64,
    left: f64,
}

impl UntilSegment {
    const NONE: Self = Self { value: f64::NAN, left: f64::NAN };

    fn then(self, later: Self, outer: Fold) -> Self {
        let inner = outer.dual();
        Self { value: outer.of(self.value, inner.onto(later.value, self.left)), left: inner.of(self.left, later.left) }
    }
}

/// `until` over the last `width` pairs of values, evaluated at the oldest; a queue of two stacks, so that every pair is
/// moved once.
#[derive(Debug, Clone)]
pub(crate) struct SlidingUntil {
    outer: Fold,
    width: usize,
    /// Older pairs, oldest on top, each joined with all later ones of this stack.
    old: Vec<UntilSegment>,
    /// Newer pairs, newest on top, not joined.
    new: Vec<UntilSegment>,
    /// All of `new` joined.
    joined: UntilSegment,
}

impl SlidingUntil {
    pub(crate) fn new(outer: Fold, width: usize) -> Self {
        Self { outer, width, old: Vec::new(), new: Vec::new(), joined: UntilSegment::NONE }
    }

    /// Adds the pair (`left`, `right`) and returns the value.
    pub(crate) fn push(&mut self, left: f64, right: f64) -> f64 {
        let pair = UntilSegment { value: right, left };
        self.joined = if self.new.is_empty() { pair } else { self.joined.then(pair, self.outer) };
        self.new.push(pair);
        if self.old.len() + self.new.len() > self.width {
            self.drop_oldest();
        }
        let whole = match (self.old.last(), self.new.is_empty()) {
            (Some(old), false) => old.then(self.joined, self.outer),
            (Some(old), true) => *old,
            (None, _) => self.joined,
        };
        whole.value
    }

    fn drop_oldest(&mut self) {
        if self.old.is_empty() {
            let mut joined = UntilSegment::NONE;
            for (i, pair) in self.new.drain(..).rev().enumerate() {
                joined = if i == 0 { pair } else { pair.then(joined, self.outer) };
                self.old.push(joined);
            }
            self.joined = UntilSegment::NONE;
        }
        self.old.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Steps;
    use crate::windows::{behind, until};

    fn noise(n: u32, seed: u32) -> Vec<f64> {
        (0..n).map(|i| f64::from((i * 7919 + seed * 104_729) % 1009) - 500.0).collect()
    }

    #[test]
    fn streaming_equals_the_column_extremum() {
        let x = noise(200, 1);
        for width in [1, 2, 7, 250] {
            let mut slide = SlidingExtremum::new(Fold::Max, width);
            let streamed: Vec<f64> = x.iter().map(|value| slide.push(*value)).collect();
            assert_eq!(streamed, behind(Fold::Max, Steps { from: 0, to: Some(width - 1) }, &x));
        }
    }

    #[test]
    fn streaming_until_equals_its_definition() {
        let (left, right) = (noise(120, 2), noise(120, 3));
        for width in [1, 2, 5, 40, 200] {
            let mut slide = SlidingUntil::new(Fold::Max, width);
            for i in 0..left.len() {
                let from = (i + 1).saturating_sub(width);
                let expected = until(Fold::Max, &left[from..=i], &right[from..=i])[0];
                assert_eq!(slide.push(left[i], right[i]), expected, "width {width} at {i}");
            }
        }
    }

    #[test]
    fn missing_values_are_skipped() {
        let mut slide = SlidingExtremum::new(Fold::Min, 2);
        assert!(slide.push(f64::NAN).is_nan());
        assert_eq!(slide.push(3.0), 3.0);
        assert_eq!(slide.push(f64::NAN), 3.0);
        assert!(slide.push(f64::NAN).is_nan());
    }
}
