//! Checks of an episode's draws: distributions, placements and the settings computed from them.

use crate::expression::arithmetic;
use crate::range::is_range;
use crate::schema::Document;
use crate::{Distribution, MAX_ITEMS, Placement, Scalar, ScenarioError, Target};

use super::identifiers::is_identifier;

pub(super) fn parameters(table: &toml::Table) -> Result<Vec<(String, Distribution)>, ScenarioError> {
    let remedy = "write { uniform = [low, high] }, { normal = [mean, sd], clip = [low, high] } or { choice = [...] }";
    table
        .iter()
        .map(|(name, value)| {
            let fail = |problem: &str| ScenarioError::value(format!("parameters.{name}"), problem);
            if !is_identifier(name) {
                return Err(fail("can't be used as a name in expressions; rename it"));
            }
            let distribution: Distribution = value.clone().try_into().map_err(|_| fail(remedy))?;
            let valid = match &distribution {
                Distribution::Uniform { uniform } => is_range(*uniform),
                Distribution::Normal { normal: [mean, sd], clip: [low, high] } => {
                    mean.is_finite()
                        && sd.is_finite()
                        && *sd >= 0.0
                        && low.is_finite()
                        && high.is_finite()
                        && low < high
                }
                Distribution::Choice { choice } => !choice.is_empty() && choice.iter().all(|x| x.is_finite()),
            };
            if valid { Ok((name.clone(), distribution)) } else { Err(fail(remedy)) }
        })
        .collect()
}

/// Checks placements and settings, with the names that they draw and use, and returns all drawn names.
pub(super) fn check_draws(document: &Document) -> Result<Vec<String>, ScenarioError> {
    let mut drawn: Vec<String> = document.parameters.keys().cloned().collect();
    let mut targets: Vec<Target> = Vec::new();
    for (i, placement) in document.placement.iter().enumerate() {
        check_placement(placement, &format!("placement[{i}]"))?;
        for body in &placement.bodies {
            let places = [("x", Target::BodyPosition(body.clone(), 0)), ("y", Target::BodyPosition(body.clone(), 1))];
            let yaw = placement.yaw.map(|_| ("yaw", Target::BodyYaw(body.clone())));
            let height = placement.z.map(|_| Target::BodyPosition(body.clone(), 2));
            for (name, target) in places.into_iter().chain(yaw) {
                let name = format!("{body}.{name}");
                if drawn.contains(&name) {
                    let problem = format!("{name:?} is drawn twice; list a body once and rename the parameter");
                    return Err(ScenarioError::value(format!("placement[{i}].bodies"), problem));
                }
                drawn.push(name);
                targets.push(target);
            }
            targets.extend(height);
        }
    }
    for (i, disturbance) in document.disturbance.iter().enumerate() {
        let wrong = |(key, problem)| ScenarioError::value(format!("disturbance[{i}].{key}"), problem);
        disturbance.check(f64::from(document.time_limit_s)).map_err(wrong)?;
    }
    for (i, entry) in document.set.iter().enumerate() {
        if targets.contains(&entry.target) {
            return Err(ScenarioError::value(format!("set[{i}].target"), "is set twice; remove one"));
        }
        targets.push(entry.target.clone());
        check_value(&entry.value, &drawn)
            .map_err(|problem| ScenarioError::value(format!("set[{i}].value"), problem))?;
    }
    Ok(drawn)
}

fn check_placement(placement: &Placement, key: &str) -> Result<(), ScenarioError> {
    let fail = |field: &str, problem: &str| Err(ScenarioError::value(format!("{key}.{field}"), problem));
    if placement.bodies.is_empty() {
        return fail("bodies", "must name at least one body");
    }
    for (field, limits) in [("x", placement.x), ("y", placement.y), ("yaw", placement.yaw.unwrap_or_default())] {
        if !is_range(limits) {
            return fail(field, "must be [low, high], two numbers with low <= high");
        }
    }
    if placement.z.is_some_and(|z| !z.is_finite()) {
        return fail("z", "must be a number of m");
    }
    if !(placement.spacing.is_finite() && placement.spacing >= 0.0) {
        return fail("spacing", "must be a number of m, 0 or more");
    }
    if placement.avoid.len() > MAX_ITEMS {
        return fail("avoid", &format!("{} entries, but at most {MAX_ITEMS} are allowed", placement.avoid.len()));
    }
    for (i, circle) in placement.avoid.iter().enumerate() {
        let valid = circle.x.is_finite() && circle.y.is_finite() && circle.radius.is_finite() && circle.radius >= 0.0;
        if !valid {
            return fail(&format!("avoid[{i}]"), "x, y and radius must be numbers of m, the radius 0 or more");
        }
    }
    Ok(())
}

/// Checks that a value is a finite number, or an arithmetic expression over drawn parameters.
pub(super) fn check_value(value: &Scalar, drawn: &[String]) -> Result<(), String> {
    match value {
        Scalar::Number(number) if number.is_finite() => Ok(()),
        Scalar::Number(number) => Err(format!("must be a finite number, not {number}")),
        Scalar::Expression(expression) => {
            let names: Vec<&str> = drawn.iter().map(String::as_str).collect();
            arithmetic(expression, &names).map(|_| ())
        }
    }
}
