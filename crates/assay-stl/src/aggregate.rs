//! Means, durations and counts over the samples behind: columns that are derived from the signals, one sample at a time, so
//! that recordings and monitors get the same bits.
use crate::plan::{EvaluationPlan, OpId};
use crate::predicate::Predicate;
use crate::syntax::Aggregate;

/// A column that is derived from others.
#[derive(Debug, Clone)]
pub(crate) struct DerivedColumn {
    pub(crate) aggregate: Aggregate,
    /// How many samples it looks at, the present one among them; `None` for all so far.
    pub(crate) width: Option<usize>,
    pub(crate) source: Source,
    /// Seconds between two samples.
    pub(crate) period_s: f64,
}

/// What is aggregated.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Number(Predicate),
    /// Operations without temporal operators that say whether a truth holds, and whether its negation does: neither where
    /// something was not measured.
    Truth {
        holds: OpId,
        fails: OpId,
    },
}

impl Source {
    /// The number, or 1 for true and 0 for false; NaN for what was not measured.
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

    /// The sample with the derived columns behind its signals.
    pub(crate) fn extend(&mut self, plan: &EvaluationPlan, sample: &[f64]) -> &[f64] {
        self.row.clear();
        self.row.extend((0..plan.width).map(|column| sample.get(column).copied().unwrap_or(f64::NAN)));
        self.row.resize(plan.columns(), f64::NAN);
        // Each reads the signals and those before it.
        for (i, (derived, window)) in plan.derived.iter().zip(&mut self.windows).enumerate() {
            self.row[plan.width + i] = window.push(derived, derived.source.at(plan, &self.row));
        }
        &self.row
    }
}

impl EvaluationPlan {
    /// The derived columns of the first `n` samples.
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

/// A sum over the last samples. Nothing is subtracted, so no rounding error stays behind: samples wait in `back`, and when
/// the oldest has to go they are turned into sums from each of them to the newest, in `front`.
#[derive(Debug, Clone)]
struct SlidingSum {
    width: Option<usize>,
    front: Vec<f64>,
    back: Vec<f64>,
    back_sum: f64,
    /// Samples in the window; all so far where it has no width.
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
