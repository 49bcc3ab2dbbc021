//! A formula bound to columns of samples at a fixed period.
use std::sync::Arc;

use crate::error::BindError;
use crate::evaluation::{TraceEnd, TraceEvaluation};
use crate::lower::lower;
use crate::monitor::Monitor;
use crate::offline::Continuation;
use crate::plan::{EvaluationPlan, Op};
use crate::syntax::Formula;

/// Number of operations up to which [`BoundFormula::at`] keeps the values on the stack.
const FEW_OPS: usize = 32;

/// A formula ready to be evaluated. Cheap to clone.
#[derive(Debug, Clone)]
pub struct BoundFormula {
    pub(crate) plan: Arc<EvaluationPlan>,
}

impl Formula {
    /// Binds the formula to samples that contain `signals` in this order, one sample every `period_s` seconds. The
    /// samples may contain more signals than the formula uses.
    ///
    /// # Errors
    /// [`BindError`]: a signal missing from the samples, a time bound between two samples, a window longer than
    /// [`MAX_HORIZON_STEPS`](crate::MAX_HORIZON_STEPS), or an invalid period.
    pub fn bind(&self, signals: &[impl AsRef<str>], period_s: f64) -> Result<BoundFormula, BindError> {
        let names: Vec<&str> = signals.iter().map(AsRef::as_ref).collect();
        Ok(BoundFormula { plan: Arc::new(lower(self, &names, period_s)?) })
    }
}

impl BoundFormula {
    /// Evaluates the formula on a recorded trace: one column per signal, in the order given to [`Formula::bind`]. The
    /// time is linear in the length and independent of the windows. Columns of different lengths are truncated to the
    /// shortest.
    ///
    /// # Panics
    /// If there are fewer columns than signals.
    pub fn evaluate(&self, columns: &[&[f64]], end: TraceEnd) -> TraceEvaluation {
        self.extended(columns, |columns, n| self.plan.outcome(columns, n, end))
    }

    /// Evaluates the formula on a recording whose end is unknown: operators without a time bound cover the recorded
    /// samples only, and windows that reach beyond the last sample stay open. So `always (p)` is settled, while
    /// `always (p implies eventually[0:1] q)` is settled only once a second has passed after the last `p`.
    ///
    /// # Panics
    /// If there are fewer columns than signals.
    pub fn evaluate_recording(&self, columns: &[&[f64]]) -> TraceEvaluation {
        self.extended(columns, |columns, n| {
            if n == 0 {
                return TraceEvaluation::EMPTY;
            }
            let clipped = self.plan.outcome(columns, n, TraceEnd::Complete);
            let first = |after| self.plan.first(self.plan.root, columns, n, after);
            TraceEvaluation::cut(
                clipped.robustness,
                (first(Continuation::PendingWorst), first(Continuation::PendingBest)),
                clipped.vacuous,
            )
        })
    }

    /// Creates a monitor of the same formula that takes one sample at a time.
    pub fn monitor(&self) -> Monitor {
        Monitor::new(Arc::clone(&self.plan))
    }

    /// Returns the robustness at each sample. For an outermost unbounded `always` (or a conjunction of them) this is
    /// the robustness of its body, whose minimum is the robustness of the trace; for any other formula, that of the
    /// formula itself as if the trace began there. Windows are clipped to the trace. Where the body refers only to
    /// samples beyond the end, the value is `+inf`, as it limits nothing.
    ///
    /// # Panics
    /// If there are fewer columns than signals.
    pub fn pointwise(&self, columns: &[&[f64]]) -> Vec<f64> {
        self.pointwise_at(columns, TraceEnd::Complete)
    }

    /// Like [`BoundFormula::pointwise`]; for a truncated trace, the upper bound of each value over all continuations.
    ///
    /// # Panics
    /// If there are fewer columns than signals.
    pub fn pointwise_at(&self, columns: &[&[f64]], end: TraceEnd) -> Vec<f64> {
        let after = if end == TraceEnd::Complete { Continuation::Nothing } else { Continuation::Best };
        self.extended(columns, |columns, n| {
            let Some(body) = self.plan.body else { return self.plan.each(columns, n, after) };
            let mut out = self.plan.column(body, columns, n, after);
            // Assumed samples beyond the end have entries of their own.
            out.truncate(n);
            out.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = f64::INFINITY);
            out
        })
    }

    /// Returns the robustness of one sample for formulas without temporal operators and aggregates; `None` for all
    /// others.
    pub fn at(&self, sample: &[f64]) -> Option<f64> {
        let plan = &*self.plan;
        if !self.is_instant() {
            return None;
        }
        if let Op::Predicate(predicate) = &plan.ops[plan.root] {
            return Some(plan.predicates[*predicate].at(sample));
        }
        let mut few = [0.0; FEW_OPS];
        let mut many = Vec::new();
        let values = if plan.root < FEW_OPS {
            &mut few[..]
        } else {
            many.resize(plan.root + 1, 0.0);
            &mut many[..]
        };
        Some(plan.instant(plan.root, sample, values))
    }

    /// Returns true if the formula has no temporal operator and no aggregate, so that [`BoundFormula::at`] returns a
    /// value.
    pub fn is_instant(&self) -> bool {
        self.plan.facts[self.plan.root].instant && self.plan.derived.is_empty()
    }

    /// Calls `with` with the columns, followed by the derived ones, and their length.
    pub(crate) fn extended<T>(&self, columns: &[&[f64]], with: impl FnOnce(&[&[f64]], usize) -> T) -> T {
        let width = self.plan.width;
        assert!(columns.len() >= width, "a trace has one column for each signal given to bind");
        let n = columns.iter().map(|column| column.len()).min().unwrap_or(0);
        if self.plan.derived.is_empty() {
            return with(columns, n);
        }
        let derived = self.plan.derive(columns, n);
        let all: Vec<&[f64]> = columns[..width].iter().copied().chain(derived.iter().map(Vec::as_slice)).collect();
        with(&all, n)
    }
}
