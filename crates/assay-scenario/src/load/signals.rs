//! Checks of signals: their names, their references, and their numbers.

use crate::schema::Document;
use crate::whole::whole;
use crate::{Frame, MAX_BANDWIDTH, MAX_ITEMS, Robot, ScenarioError, Signal};

use super::identifiers::{check_robot, is_identifier};

/// Maximum window of a signal in physics steps.
const MAX_WINDOW_STEPS: u32 = 1000;

pub(super) fn check_signals(document: &Document, robots: &[Robot]) -> Result<(), ScenarioError> {
    for (name, signal) in &document.signals {
        let key = format!("signals.{name}");
        if !is_identifier(name) {
            return Err(ScenarioError::value(key, "can't be named in a formula; rename it"));
        }
        SignalCheck { document, robots, key }.check(signal)?;
    }
    Ok(())
}

/// The check of one signal.
struct SignalCheck<'a> {
    document: &'a Document,
    robots: &'a [Robot],
    /// Path of the signal's key: `signals.NAME`.
    key: String,
}

impl SignalCheck<'_> {
    fn check(&self, signal: &Signal) -> Result<(), ScenarioError> {
        // No catch-all here: a kind of signal that is not checked must not compile. Frames and joints are looked up in
        // the compiled world, by assay-sim.
        match signal {
            Signal::Speed { of: _ }
            | Signal::AngularSpeed { of: _ }
            | Signal::PointDistance { from: _, to: _ }
            | Signal::RelativeSpeed { from: _, to: _ }
            | Signal::Displacement { of: _ }
            | Signal::Position { of: _, axis: _ }
            | Signal::JointValue { joint: _ }
            | Signal::JointSpeed { joint: _ }
            | Signal::Tilt { of: _ } => Ok(()),
            Signal::Distance { a, b, cutoff } => {
                self.metres("cutoff", *cutoff)?;
                self.group(a)?;
                self.group(b)
            }
            Signal::ApproachSpeed { a, b, within } => {
                self.metres("within", *within)?;
                self.group(a)?;
                self.group(b)
            }
            Signal::GreatestSpeed { of } => self.group(of),
            Signal::ContactForce { a, b } | Signal::Penetration { a, b } => self.groups_in_contact(a, b.as_deref()),
            Signal::Force { a, b, bandwidth_hz } => {
                self.bandwidth(*bandwidth_hz)?;
                self.groups_in_contact(a, b.as_deref())
            }
            Signal::Acceleration { of: _, window_s }
            | Signal::ApparentTilt { of: _, window_s }
            | Signal::Agitation { of: _, window_s } => self.window(*window_s),
            Signal::Action { name } => self.action(name),
            Signal::Inside { of, within: _ } => self.frames("of", of),
            Signal::JointPositionMargin { robot }
            | Signal::JointVelocityRatio { robot }
            | Signal::JointTorqueRatio { robot } => self.arm(robot),
            Signal::Geofence { of: _, low, high } => {
                let valid = low.iter().zip(high).all(|(low, high)| low.is_finite() && high.is_finite() && low < high);
                self.require(valid, "low", "must lie below high, all numbers")
            }
            Signal::Visited { of: _, frames, radius } => {
                self.frames("frames", frames)?;
                self.metres("radius", *radius)
            }
            Signal::Crossed { of: _, frames, half_size } => {
                self.frames("frames", frames)?;
                let valid = half_size.iter().all(|half| is_positive(*half));
                self.require(valid, "half_size", "must be two positive numbers of m")
            }
            Signal::Reversals { signal, band, window_s } => {
                self.window(*window_s)?;
                self.require(is_positive(*band), "band", "must be a positive number")?;
                self.source(signal)
            }
            Signal::Rate { signal } | Signal::Exposure { signal, below: _ } => self.source(signal),
        }
    }

    /// Returns an error about the signal's key `part` unless `valid`.
    fn require(&self, valid: bool, part: &str, problem: impl Into<String>) -> Result<(), ScenarioError> {
        if valid { Ok(()) } else { Err(ScenarioError::value(format!("{}.{part}", self.key), problem)) }
    }

    /// Requires a robot with joints: without joints, the signal would be constant and no clause on it could be
    /// violated.
    fn arm(&self, name: &str) -> Result<(), ScenarioError> {
        check_robot(self.robots, self.key.clone(), name)?;
        let has_joints = self.robots.iter().any(|robot| robot.name == name && !robot.model.joints.is_empty());
        self.require(has_joints, "robot", "must be a robot with joints")
    }

    fn metres(&self, part: &str, value: f64) -> Result<(), ScenarioError> {
        self.require(is_positive(value), part, "must be a positive number of m")
    }

    fn bandwidth(&self, bandwidth_hz: f64) -> Result<(), ScenarioError> {
        let timestep_s = self.document.world.timestep_s;
        let valid = is_positive(bandwidth_hz) && bandwidth_hz * timestep_s <= MAX_BANDWIDTH;
        let most = MAX_BANDWIDTH / timestep_s;
        let problem = format!("must be a positive number of Hz, at most {most} at this timestep_s");
        self.require(valid, "bandwidth_hz", problem)
    }

    fn window(&self, window_s: f64) -> Result<(), ScenarioError> {
        let steps = whole(window_s / self.document.world.timestep_s);
        let problem = format!("must be 1 to {MAX_WINDOW_STEPS} whole physics steps, in s");
        self.require(steps.is_some_and(|steps| steps <= MAX_WINDOW_STEPS), "window_s", problem)
    }

    fn frames(&self, part: &str, frames: &[Frame]) -> Result<(), ScenarioError> {
        let problem = format!("must name 1 to {MAX_ITEMS} frames");
        self.require((1..=MAX_ITEMS).contains(&frames.len()), part, problem)
    }

    fn group(&self, name: &str) -> Result<(), ScenarioError> {
        if self.document.groups.contains_key(name) {
            return Ok(());
        }
        Err(ScenarioError::value(self.key.clone(), format!("there is no group {name:?} in [groups]")))
    }

    fn groups_in_contact(&self, a: &str, b: Option<&str>) -> Result<(), ScenarioError> {
        self.group(a)?;
        b.map_or(Ok(()), |b| self.group(b))
    }

    fn action(&self, name: &str) -> Result<(), ScenarioError> {
        let exists = self.document.control.action.iter().any(|spec| spec.name == *name);
        self.require(exists, "name", format!("there is no [[control.action]] named {name:?}"))
    }

    /// Checks the signal from which another one is derived; it must not be a derived signal itself.
    fn source(&self, name: &str) -> Result<(), ScenarioError> {
        let Some(source) = self.document.signals.get(name) else {
            return self.require(false, "signal", format!("there is no signal {name:?}"));
        };
        let problem = format!("{name:?} is itself derived from another signal; use that one");
        self.require(!source.is_derived(), "signal", problem)
    }
}

fn is_positive(number: f64) -> bool {
    number.is_finite() && number > 0.0
}
