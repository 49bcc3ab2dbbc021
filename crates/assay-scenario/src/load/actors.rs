//! Checks of actors.

use std::collections::BTreeSet;

use crate::range::is_range;
use crate::schema::Document;
use crate::{MAX_ITEMS, Motion, ScenarioError};

use super::draws::check_value;

/// Checks that every actor moves a different body, with valid waypoints or ranges.
pub(super) fn check_actors(document: &Document, drawn: &[String]) -> Result<(), ScenarioError> {
    let mut bodies = BTreeSet::new();
    for (i, actor) in document.actor.iter().enumerate() {
        let fail = |key: &str, problem: String| Err(ScenarioError::value(format!("actor[{i}].{key}"), problem));
        if !bodies.insert(&actor.body) {
            return fail("body", "is moved twice; remove one".to_owned());
        }
        if let Some(stops) = &actor.stops_for {
            if !document.groups.contains_key(&stops.group) {
                return fail("stops_for.group", format!("there is no group {:?} in [groups]", stops.group));
            }
            if !(stops.gap_m.is_finite() && stops.gap_m > 0.0) {
                return fail("stops_for.gap_m", "must be a positive number of m".to_owned());
            }
        }
        match &actor.motion {
            Motion::Path { waypoints, speed, start_s, .. } => {
                if !(2..=MAX_ITEMS).contains(&waypoints.len()) {
                    return fail("waypoints", format!("must be 2 to {MAX_ITEMS} points"));
                }
                if waypoints.iter().any(|point| point.len() != waypoints[0].len() || !(2..=3).contains(&point.len())) {
                    return fail("waypoints", "must all be [x, y] or all be [x, y, z] in m".to_owned());
                }
                let keys = [("speed", speed), ("start_s", start_s)];
                let points = waypoints.iter().flatten().map(|value| ("waypoints", value));
                for (key, value) in keys.into_iter().chain(points) {
                    check_value(value, drawn)
                        .map_err(|problem| ScenarioError::value(format!("actor[{i}].{key}"), problem))?;
                }
            }
            Motion::Walk { x, y, speed, pause_s } => {
                for (key, range, least) in
                    [("x", *x, f64::MIN), ("y", *y, f64::MIN), ("speed", *speed, 0.01), ("pause_s", *pause_s, 0.0)]
                {
                    if !(is_range(range) && range[0] >= least) {
                        return fail(
                            key,
                            "must be [low, high], two numbers with low <= high; speeds from 0.01 m/s".to_owned(),
                        );
                    }
                }
                if x[1] - x[0] + y[1] - y[0] <= 0.0 {
                    return fail("x", "leaves no room to walk; widen x or y".to_owned());
                }
            }
        }
    }
    Ok(())
}
