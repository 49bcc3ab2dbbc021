//! Checks of names: what is spoken of must exist, and no two things may share a name.

use std::collections::BTreeSet;

use assay_stl::Formula;

use crate::schema::Document;
use crate::{
    IMAGE_PREFIX, MAX_BANDWIDTH, MAX_CAMERAS, MAX_IMAGE_HZ, MAX_ITEMS, Observation, ObservationKind, Robot,
    ScenarioError, Signal,
};

use super::files::is_name;

/// Longest window of an acceleration in physics steps.
const MAX_WINDOW_STEPS: u32 = 1000;

/// Groups, robots and signals that are spoken of must exist.
pub(super) fn check_names(document: &Document, robots: &[Robot]) -> Result<(), ScenarioError> {
    let robot_exists = |key: String, name: &str| {
        if robots.iter().any(|r| r.name == name) {
            return Ok(());
        }
        Err(ScenarioError::value(key, format!("there is no [[robot]] named {name:?}")))
    };
    let group_exists = |key: String, name: &str| {
        if document.groups.contains_key(name) {
            return Ok(());
        }
        Err(ScenarioError::value(key, format!("there is no group {name:?} in [groups]")))
    };
    let mut taken = BTreeSet::new();
    for (i, robot) in robots.iter().enumerate() {
        if !taken.insert(&robot.name) {
            return Err(ScenarioError::value(format!("robot[{i}].name"), "is used twice; rename one"));
        }
    }
    for (name, signal) in &document.signals {
        let key = || format!("signals.{name}");
        if !is_identifier(name) {
            return Err(ScenarioError::value(key(), "can't be named in a formula; rename it"));
        }
        match signal {
            Signal::Distance { a, b, cutoff: most } | Signal::ApproachSpeed { a, b, within: most } => {
                if !is_positive(*most) {
                    let part = if matches!(signal, Signal::Distance { .. }) { "cutoff" } else { "within" };
                    return Err(ScenarioError::value(format!("{}.{part}", key()), "must be a positive number of m"));
                }
                group_exists(key(), a)?;
                group_exists(key(), b)?;
            }
            Signal::GreatestSpeed { of } => group_exists(key(), of)?,
            Signal::Force { bandwidth_hz, .. }
                if !(is_positive(*bandwidth_hz) && bandwidth_hz * document.world.timestep_s <= MAX_BANDWIDTH) =>
            {
                let most = MAX_BANDWIDTH / document.world.timestep_s;
                let problem = format!("must be a positive number of Hz, at most {most} at this timestep_s");
                return Err(ScenarioError::value(format!("signals.{name}.bandwidth_hz"), problem));
            }
            Signal::ContactForce { a, b } | Signal::Force { a, b, .. } | Signal::Penetration { a, b } => {
                group_exists(key(), a)?;
                b.as_ref().map_or(Ok(()), |b| group_exists(key(), b))?;
            }
            Signal::Acceleration { window_s, .. }
            | Signal::ApparentTilt { window_s, .. }
            | Signal::Agitation { window_s, .. }
            | Signal::Reversals { window_s, .. }
                if super::whole(window_s / document.world.timestep_s).is_none_or(|steps| steps > MAX_WINDOW_STEPS) =>
            {
                let problem = format!("must be 1 to {MAX_WINDOW_STEPS} whole physics steps, in s");
                return Err(ScenarioError::value(format!("signals.{name}.window_s"), problem));
            }
            Signal::Inside { of, .. } if of.is_empty() || of.len() > MAX_ITEMS => {
                let problem = format!("must name 1 to {MAX_ITEMS} frames");
                return Err(ScenarioError::value(format!("signals.{name}.of"), problem));
            }
            Signal::JointPositionMargin { robot }
            | Signal::JointVelocityRatio { robot }
            | Signal::JointTorqueRatio { robot } => robot_exists(key(), robot)?,
            Signal::Geofence { low, high, .. } => {
                let valid = low.iter().zip(high).all(|(low, high)| low.is_finite() && high.is_finite() && low < high);
                if !valid {
                    return Err(ScenarioError::value(
                        format!("signals.{name}.low"),
                        "must lie below high, all numbers",
                    ));
                }
            }
            Signal::Visited { frames, radius, .. } => {
                if frames.is_empty() || frames.len() > MAX_ITEMS {
                    let problem = format!("must name 1 to {MAX_ITEMS} frames");
                    return Err(ScenarioError::value(format!("signals.{name}.frames"), problem));
                }
                if !(radius.is_finite() && *radius > 0.0) {
                    return Err(ScenarioError::value(
                        format!("signals.{name}.radius"),
                        "must be a positive number of m",
                    ));
                }
            }
            Signal::Action { name: number } if document.control.action.iter().all(|spec| spec.name != *number) => {
                let problem = format!("there is no [[control.action]] named {number:?}");
                return Err(ScenarioError::value(format!("signals.{name}.name"), problem));
            }
            Signal::Crossed { frames, half_size, .. } => {
                if frames.is_empty() || frames.len() > MAX_ITEMS {
                    let problem = format!("must name 1 to {MAX_ITEMS} frames");
                    return Err(ScenarioError::value(format!("signals.{name}.frames"), problem));
                }
                if !half_size.iter().all(|half| is_positive(*half)) {
                    let problem = "must be two positive numbers of m";
                    return Err(ScenarioError::value(format!("signals.{name}.half_size"), problem));
                }
            }
            Signal::Reversals { signal, band, .. } => {
                if !is_positive(*band) {
                    return Err(ScenarioError::value(format!("signals.{name}.band"), "must be a positive number"));
                }
                check_derived(document, name, signal)?;
            }
            Signal::Rate { signal } | Signal::Exposure { signal, .. } => check_derived(document, name, signal)?,
            _ => {}
        }
    }
    check_observations(document, robots, &robot_exists)
}

fn is_positive(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

/// A signal made of another one must name one that is not made of others itself.
fn check_derived(document: &Document, name: &str, of: &str) -> Result<(), ScenarioError> {
    let key = format!("signals.{name}.signal");
    match document.signals.get(of) {
        None => Err(ScenarioError::value(key, format!("there is no signal {of:?}"))),
        Some(Signal::Rate { .. } | Signal::Exposure { .. } | Signal::Reversals { .. }) => {
            Err(ScenarioError::value(key, format!("{of:?} is made of another signal itself; name that one")))
        }
        Some(_) => Ok(()),
    }
}

fn check_observations(
    document: &Document,
    robots: &[Robot],
    robot_exists: &dyn Fn(String, &str) -> Result<(), ScenarioError>,
) -> Result<(), ScenarioError> {
    let mut names = BTreeSet::new();
    for observation in &document.observation {
        let key = format!("observation {:?}", observation.name);
        if observation.name.is_empty() {
            return Err(ScenarioError::value(key, "the name is empty; give it one"));
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
                    _ => return Err(ScenarioError::value(key, "give either robot or joints")),
                }
            }
            ObservationKind::GripperWidth { robot } => robot_exists(key, robot)?,
            ObservationKind::Ranges { robot, lidar } => {
                robot_exists(key.clone(), robot)?;
                let has = |r: &Robot| r.name == *robot && r.model.lidar.iter().any(|one| one.name == *lidar);
                if !robots.iter().any(has) {
                    let problem = format!("robot {robot:?} has no scanner {lidar:?}; its robot.toml names them");
                    return Err(ScenarioError::value(key, problem));
                }
            }
            ObservationKind::Image { rate_hz, .. } => {
                check_image(observation, *rate_hz)
                    .map_err(|(part, problem)| ScenarioError::value(format!("{key}.{part}"), problem))?;
                continue;
            }
            ObservationKind::Signal { signal } if !document.signals.contains_key(signal) => {
                return Err(ScenarioError::value(key, format!("there is no signal {signal:?}")));
            }
            _ => {}
        }
        if observation.name.starts_with(IMAGE_PREFIX) {
            let key = format!("observation {:?}", observation.name);
            return Err(ScenarioError::value(key, "begins like an image's name and is none; rename it"));
        }
    }
    let images = document.observation.iter().filter(|o| matches!(o.kind, ObservationKind::Image { .. })).count();
    if images > MAX_CAMERAS {
        let problem = format!("{images} images, more than the {MAX_CAMERAS} allowed; remove some");
        return Err(ScenarioError::value("observation", problem));
    }
    Ok(())
}

/// What is wrong with an image: the key, and what would be right.
fn check_image(observation: &Observation, rate_hz: f64) -> Result<(), (&'static str, String)> {
    if !observation.name.strip_prefix(IMAGE_PREFIX).is_some_and(is_name) {
        return Err(("name", format!("must be {IMAGE_PREFIX}NAME, NAME of a-z, 0-9, '_' and '-'")));
    }
    if !(rate_hz > 0.0 && rate_hz <= MAX_IMAGE_HZ) {
        return Err(("rate_hz", format!("must be above 0 and at most {MAX_IMAGE_HZ} images per simulated second")));
    }
    if observation.noise != 0.0 {
        return Err(("noise", "is for numbers, not for images; remove it".to_owned()));
    }
    Ok(())
}

/// Words that a formula reads as something else than the signal of that name.
const TAKEN: [&str; 2] = ["time", "limit"];

/// Whether a formula reads `name` as the name of a signal or parameter.
pub(super) fn is_identifier(name: &str) -> bool {
    let reads = Formula::parse(&format!("{name} >= 0"), &[]).is_ok_and(|formula| formula.signals() == [name]);
    reads && !TAKEN.contains(&name)
}
