//! Checks of names: each reference must resolve, and names must be unique.

use std::collections::BTreeSet;

use crate::schema::Document;
use crate::{IMAGE_PREFIX, ObservationKind, Robot, ScenarioError};

use super::identifiers::check_robot;
use super::signals::check_signals;

/// Checks that names are unique and that references to groups, robots and signals resolve.
pub(super) fn check_names(document: &Document, robots: &[Robot]) -> Result<(), ScenarioError> {
    let mut taken = BTreeSet::new();
    for (i, robot) in robots.iter().enumerate() {
        if !taken.insert(&robot.name) {
            return Err(ScenarioError::value(format!("robot[{i}].name"), "is used twice; rename one"));
        }
    }
    check_signals(document, robots)?;
    check_observations(document, robots)
}

fn check_observations(document: &Document, robots: &[Robot]) -> Result<(), ScenarioError> {
    let robot_exists = |key: String, name: &str| check_robot(robots, key, name);
    let mut names = BTreeSet::new();
    for observation in &document.observation {
        let key = format!("observation {:?}", observation.name);
        if observation.name.is_empty() {
            return Err(ScenarioError::value(key, "the name is empty; choose one"));
        }
        if !names.insert(&observation.name)
            || matches!(observation.name.as_str(), "time" | "time_remaining" | "instruction")
        {
            return Err(ScenarioError::value(key, "the name is taken; rename it"));
        }
        if !(observation.noise.is_finite() && observation.noise >= 0.0) {
            return Err(ScenarioError::value(format!("{key}.noise"), "must be a standard deviation, 0 or more"));
        }
        match &observation.kind {
            ObservationKind::JointPosition { robot, joints } | ObservationKind::JointVelocity { robot, joints } => {
                match robot {
                    Some(robot) if joints.is_empty() => robot_exists(key, robot)?,
                    None if !joints.is_empty() => {}
                    _ => return Err(ScenarioError::value(key, "must have either robot or joints")),
                }
            }
            ObservationKind::GripperWidth { robot } => robot_exists(key, robot)?,
            ObservationKind::Ranges { robot, lidar } => {
                robot_exists(key.clone(), robot)?;
                let has = |r: &Robot| r.name == *robot && r.model.lidar.iter().any(|one| one.name == *lidar);
                if !robots.iter().any(has) {
                    let problem = format!("robot {robot:?} has no scanner {lidar:?}; see the names in its robot.toml");
                    return Err(ScenarioError::value(key, problem));
                }
            }
            // Checked with their cost.
            ObservationKind::Image { .. } => continue,
            ObservationKind::Signal { signal } if !document.signals.contains_key(signal) => {
                return Err(ScenarioError::value(key, format!("there is no signal {signal:?}")));
            }
            _ => {}
        }
        if observation.name.starts_with(IMAGE_PREFIX) {
            let key = format!("observation {:?}", observation.name);
            return Err(ScenarioError::value(key, "has the prefix of an image's name, but is not an image; rename it"));
        }
    }
    Ok(())
}
