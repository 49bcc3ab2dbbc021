//! Lowering of a parsed formula to its evaluation plan: time bounds in samples, negations pushed down to the
//! predicates, bounded `since` rewritten into simpler operations, and the activity formula (`activity`).
mod activity;
mod comparison;
mod lowering;
mod time;

use std::collections::HashMap;

use crate::error::BindError;
use crate::limits::MAX_HORIZON_STEPS;
use crate::plan::EvaluationPlan;
use crate::syntax::Formula;
use activity::ExercisedAt;
use lowering::{Lowering, NodeForm};

/// Lowers `formula` to a plan over samples with the columns `signals`, one every `period_s` seconds.
pub(crate) fn lower(formula: &Formula, signals: &[&str], period_s: f64) -> Result<EvaluationPlan, BindError> {
    if !(period_s.is_finite() && period_s > 0.0) {
        return Err(BindError::Period { period_s });
    }
    let find = |name: &String| {
        let found = signals.iter().position(|signal| signal == name);
        found.ok_or_else(|| BindError::UnknownSignal { name: name.clone() })
    };
    let columns = formula.signals.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let mut lowering = Lowering {
        formula,
        period_s,
        columns: &columns,
        predicates: vec![],
        ops: vec![],
        facts: vec![],
        derived: vec![],
        width: signals.len(),
        memo: HashMap::new(),
    };
    let root = lowering.node(formula.root, NodeForm { positive: true, crisp: false })?;
    let body = lowering.body(root);
    let active = match lowering.active(formula.root)? {
        ExercisedAt::Always => None,
        ExercisedAt::Op(op) => Some(op),
    };
    // The window of each aggregate buffers its samples.
    let kept = lowering.derived.iter().filter_map(|derived| derived.width).fold(0, usize::saturating_add);
    let span = lowering.facts.iter().map(|facts| facts.span).max().unwrap_or(0).saturating_add(kept);
    if span > MAX_HORIZON_STEPS {
        let steps = u64::try_from(span).unwrap_or(u64::MAX);
        return Err(BindError::Horizon { steps, limit: MAX_HORIZON_STEPS });
    }
    let Lowering { predicates, ops, facts, derived, width, .. } = lowering;
    let used = columns.into_iter().chain(width..width + derived.len()).collect();
    Ok(EvaluationPlan { predicates, ops, facts, root, active, body, used, width, derived })
}
