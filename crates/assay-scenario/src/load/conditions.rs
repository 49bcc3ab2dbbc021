//! Formulas over signals: stages, success and clauses.

use std::collections::BTreeSet;

use assay_stl::{BoundFormula, Formula};

use crate::harm::HarmNames;
use crate::schema::{ClauseEntry, Document, StageEntry, SuccessAt};
use crate::{Clause, ScenarioError, Signal, Stage, Success};

use super::identifiers::is_name;

fn formula(key: &str, text: &str, constants: &[(&str, f64)]) -> Result<Formula, ScenarioError> {
    Formula::parse(text, constants).map_err(|e| ScenarioError::value(key, e.to_string()))
}

fn bind(key: &str, formula: &Formula, names: &[String], period_s: f64) -> Result<BoundFormula, ScenarioError> {
    formula.bind(names, period_s).map_err(|e| ScenarioError::value(key, e.to_string()))
}

/// Parses a condition without temporal operators.
fn condition(key: &str, text: &str, names: &[String], period_s: f64) -> Result<BoundFormula, ScenarioError> {
    let bound = bind(key, &formula(key, text, &[])?, names, period_s)?;
    let sample = vec![0.0; names.len()];
    if bound.at(&sample).is_none() {
        return Err(ScenarioError::value(key, "must not use temporal operators; use hold_s"));
    }
    Ok(bound)
}

pub(super) fn stages(document: &Document, names: &[String]) -> Result<Vec<Stage>, ScenarioError> {
    let period_s = document.world.timestep_s;
    let mut names_seen = BTreeSet::new();
    let stage = |(i, entry): (usize, &StageEntry)| {
        if !names_seen.insert(entry.name.clone()) || entry.name.is_empty() {
            return Err(ScenarioError::value(format!("stage[{i}].name"), "is empty or used twice; rename it"));
        }
        if !(entry.points.is_finite() && entry.points > 0.0) {
            return Err(ScenarioError::value(format!("stage[{i}].points"), "must be a positive number"));
        }
        check_hold(document, &format!("stage[{i}].hold_s"), entry.hold_s)?;
        let when = condition(&format!("stage[{i}].when"), &entry.when, names, period_s)?;
        Ok(Stage { name: entry.name.clone(), points: entry.points, when, hold_s: entry.hold_s })
    };
    document.stage.iter().enumerate().map(stage).collect()
}

/// Rejects a hold time longer than the episode, since such a condition could never become true.
fn check_hold(document: &Document, key: &str, hold_s: f64) -> Result<(), ScenarioError> {
    if (0.0..=f64::from(document.time_limit_s)).contains(&hold_s) {
        return Ok(());
    }
    Err(ScenarioError::value(key, "must be 0 s to time_limit_s"))
}

pub(super) fn success(document: &Document, names: &[String]) -> Result<Success, ScenarioError> {
    let entry = &document.success;
    check_hold(document, "success.hold_s", entry.hold_s)?;
    let when = condition("success.when", &entry.when, names, document.world.timestep_s)?;
    Ok(Success { when, hold_s: entry.hold_s, at_end: entry.at == SuccessAt::End })
}

pub(super) fn clauses(document: &Document, names: &[String]) -> Result<Vec<Clause>, ScenarioError> {
    let harms = HarmNames::new(&document.groups, &document.signals);
    let mut ids = BTreeSet::new();
    let clause = |(i, entry): (usize, &ClauseEntry)| {
        let fail = |key: &str, problem: &str| Err(ScenarioError::value(format!("clause[{i}].{key}"), problem));
        if !ids.insert(entry.id.clone()) {
            return fail("id", "is used twice; rename one");
        }
        if !is_name(&entry.id) {
            return fail("id", "is not a valid name: use a-z, 0-9, '_' and '-'");
        }
        if !(entry.weight > 0.0 && entry.weight <= 1.0) {
            return fail("weight", "must lie in (0, 1]");
        }
        if !entry.limit.is_finite() {
            return fail("limit", "must be a number");
        }
        let scale = entry.scale.unwrap_or(entry.limit.abs());
        if !(scale.is_finite() && scale > 0.0) {
            return fail("scale", "must be given, and positive, because the limit is 0");
        }
        let key = format!("clause[{i}].formula");
        let formula = formula(&key, &entry.formula, &[("limit", entry.limit)])?;
        let bound = bind(&key, &formula, names, document.world.timestep_s)?;
        if entry.terminal && !bound.monitor().is_bounded() {
            return fail(
                "formula",
                "is not decided before the episode ends, so it cannot be `terminal`: give the operator inside the \
                 window a time bound, or remove `terminal`",
            );
        }
        Ok(Clause {
            id: entry.id.clone(),
            title: entry.title.clone(),
            level: entry.level,
            harm: entry.harm.unwrap_or_else(|| harms.of_formula(&formula)),
            margin_range: formula
                .margin_range(|name| document.signals.get(name).map_or((0.0, f64::INFINITY), Signal::range)),
            weight: entry.weight,
            standard: entry.standard.clone(),
            unit: entry.unit.clone(),
            limit: entry.limit,
            scale,
            terminal: entry.terminal,
            must_activate: entry.must_activate,
            bound,
            formula,
        })
    };
    document.clause.iter().enumerate().map(clause).collect()
}
