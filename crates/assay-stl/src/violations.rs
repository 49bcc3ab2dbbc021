//! When a formula was violated: the episodes of a violation, for reports and plots.
use crate::bound_formula::BoundFormula;
use crate::evaluation::TraceEnd;
use crate::offline::Continuation;

/// A maximal run of samples that violate a formula. Indices of samples, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViolationSpan {
    /// The first sample of the run.
    pub first: usize,
    /// The last sample of the run.
    pub last: usize,
    /// The (first) sample with the least robustness.
    pub worst: usize,
    /// That robustness, below 0.
    pub robustness: f64,
}

impl BoundFormula {
    /// The violations of a complete trace.
    ///
    /// Of an outermost unbounded `always` (or a conjunction of them): the maximal runs of samples at which its body is
    /// violated. Of any other formula: at most one, from the first sample at which the violation is certain (the last
    /// sample, if only the end settles it) to the end; `worst` is its first sample, `robustness` the formula's.
    ///
    /// # Panics
    /// If there are fewer columns than signals.
    pub fn violations(&self, columns: &[&[f64]]) -> Vec<ViolationSpan> {
        self.violations_at(columns, TraceEnd::Complete)
    }

    /// As [`BoundFormula::violations`]; of a trace that broke off, only violations that are certain whatever had followed.
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
        // More samples only ever narrow what is possible, so the first certain prefix is found by halving.
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
