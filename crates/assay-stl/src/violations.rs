//! The spans of a trace in which a formula was violated, for reports and plots.
use crate::bound_formula::BoundFormula;
use crate::evaluation::TraceEnd;
use crate::offline::Continuation;

/// A maximal run of samples that violate a formula. All indices are sample indices; both ends are included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViolationSpan {
    /// The first sample of the run.
    pub first: usize,
    /// The last sample of the run.
    pub last: usize,
    /// The sample with the minimum robustness (the first of several).
    pub worst: usize,
    /// The robustness at that sample, below 0.
    pub robustness: f64,
}

impl BoundFormula {
    /// Returns the violations of a complete trace.
    ///
    /// For an outermost unbounded `always` (or a conjunction of them), these are the maximal runs of samples at which
    /// its body is violated. For any other formula there is at most one, from the first sample at which the violation
    /// is certain (the last sample, if only the end settles it) to the end; `worst` is its first sample, `robustness`
    /// the formula's.
    ///
    /// # Panics
    /// If there are fewer columns than signals.
    pub fn violations(&self, columns: &[&[f64]]) -> Vec<ViolationSpan> {
        self.violations_at(columns, TraceEnd::Complete)
    }

    /// Like [`BoundFormula::violations`]; for a cut trace, only violations that are certain under all continuations.
    ///
    /// # Panics
    /// If there are fewer columns than signals.
    pub fn violations_at(&self, columns: &[&[f64]], end: TraceEnd) -> Vec<ViolationSpan> {
        let after = if end == TraceEnd::Complete { Continuation::Nothing } else { Continuation::Best };
        self.extended(columns, |columns, n| match self.plan.body {
            Some(body) => runs(&self.plan.column(body, columns, n, after)[..n]),
            None => self.certain(columns, n, end).into_iter().collect(),
        })
    }

    fn certain(&self, columns: &[&[f64]], n: usize, end: TraceEnd) -> Option<ViolationSpan> {
        let outcome = self.plan.outcome(columns, n, end);
        let worst = if end == TraceEnd::Complete { outcome.robustness } else { outcome.interval.1 };
        if n == 0 || worst >= 0.0 {
            return None;
        }
        // More samples only narrow the bounds, so the first certain prefix is found by binary search.
        let certain = |length: usize| self.plan.first(self.plan.root, columns, length, Continuation::Best) < 0.0;
        let (mut lowering, mut high) = (1, n);
        while lowering < high {
            let middle = lowering.midpoint(high);
            if certain(middle) { high = middle } else { lowering = middle + 1 }
        }
        let first = high - 1;
        Some(ViolationSpan { first, last: n - 1, worst: first, robustness: outcome.robustness })
    }
}

fn runs(body: &[f64]) -> Vec<ViolationSpan> {
    let mut out: Vec<ViolationSpan> = Vec::new();
    for (i, value) in body.iter().enumerate().filter(|(_, value)| **value < 0.0) {
        match out.last_mut().filter(|span| span.last + 1 == i) {
            Some(span) => {
                span.last = i;
                if *value < span.robustness {
                    (span.worst, span.robustness) = (i, *value);
                }
            }
            None => out.push(ViolationSpan { first: i, last: i, worst: i, robustness: *value }),
        }
    }
    out
}
