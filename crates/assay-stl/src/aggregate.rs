//! Aggregates (mean, duration, count) over past samples: columns derived from the signals one sample at a time, so that
//! offline evaluation and monitors agree to the bit.
use crate::plan::{AggregateSource, DerivedColumn, EvaluationPlan};
use crate::syntax::Aggregate;

impl AggregateSource {
    /// Returns the number, or 1 for true and 0 for false; NaN where a signal was not measured.
    fn at(&self, plan: &EvaluationPlan, sample: &[f64]) -> f64 {
        match self {
            Self::Number(predicate) => predicate.margin(sample),
            Self::Truth { holds, fails } => {
                let mut values = vec![f64::NAN; holds.max(fails) + 1];
                let positive = plan.instant(*holds, sample, &mut values) > 0.0;
                let negative = plan.instant(*fails, sample, &mut values) > 0.0;
                if positive || negative { f64::from(u8::from(positive)) } else { f64::NAN }
            }
        }
    }
}

/// The state of all derived columns of a plan.
#[derive(Debug, Clone)]
pub(crate) struct History {
    windows: Vec<SlidingSum>,
    row: Vec<f64>,
}

impl History {
    pub(crate) fn new(plan: &EvaluationPlan) -> Self {
        Self { windows: plan.derived.iter().map(SlidingSum::new).collect(), row: Vec::with_capacity(plan.columns()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Returns the sample with the derived columns appended to its signals.
    pub(crate) fn extend(&mut self, plan: &EvaluationPlan, sample: &[f64]) -> &[f64] {
        self.row.clear();
        self.row.extend((0..plan.width).map(|column| sample.get(column).copied().unwrap_or(f64::NAN)));
        self.row.resize(plan.columns(), f64::NAN);
        // Each derived column reads the signals and the derived columns before it.
        for (i, (derived, window)) in plan.derived.iter().zip(&mut self.windows).enumerate() {
            self.row[plan.width + i] = window.push(derived, derived.source.at(plan, &self.row));
        }
        &self.row
    }
}

impl EvaluationPlan {
    /// Computes the derived columns of the first `n` samples.
    pub(crate) fn derive(&self, columns: &[&[f64]], n: usize) -> Vec<Vec<f64>> {
        let mut history = History::new(self);
        let mut out = vec![Vec::with_capacity(n); self.derived.len()];
        let mut sample = vec![f64::NAN; self.width];
        for i in 0..n {
            sample.iter_mut().zip(columns).for_each(|(value, column)| *value = column[i]);
            let row = history.extend(self, &sample);
            out.iter_mut().zip(&row[self.width..]).for_each(|(column, value)| column.push(*value));
        }
        out
    }
}

/// A sum over the last samples. Nothing is subtracted, so no rounding error accumulates: samples are collected in
/// `back`; when the oldest must be dropped, they become suffix sums (from each of them to the newest) in `front`.
#[derive(Debug, Clone)]
struct SlidingSum {
    width: Option<usize>,
    front: Vec<f64>,
    back: Vec<f64>,
    back_sum: f64,
    /// Number of samples in the window; all so far if it has no width.
    count: usize,
    was_true: bool,
}

impl SlidingSum {
    fn new(derived: &DerivedColumn) -> Self {
        Self { width: derived.width, front: vec![], back: vec![], back_sum: 0.0, count: 0, was_true: false }
    }

    fn push(&mut self, derived: &DerivedColumn, value: f64) -> f64 {
        let is_true = value > 0.0;
        match derived.aggregate {
            Aggregate::Mean => self.sum(value) / self.count as f64,
            Aggregate::Duration => self.sum(value) * derived.period_s,
            Aggregate::Count => {
                let begins = is_true && !std::mem::replace(&mut self.was_true, is_true);
                self.was_true = is_true;
                self.sum(if value.is_nan() { value } else { f64::from(u8::from(begins)) })
            }
        }
    }

    fn sum(&mut self, value: f64) -> f64 {
        self.back_sum += value;
        self.count += 1;
        let Some(width) = self.width else { return self.back_sum };
        self.back.push(value);
        if self.count > width {
            if self.front.is_empty() {
                let mut sum = 0.0;
                while let Some(value) = self.back.pop() {
                    sum += value;
                    self.front.push(sum);
                }
                self.back_sum = 0.0;
            }
            self.front.pop();
            self.count -= 1;
        }
        self.front.last().copied().unwrap_or(0.0) + self.back_sum
    }
}
