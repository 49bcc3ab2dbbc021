//! Signals: the scenario's named quantities, computed after each physics step from the state at the step's start.
//!
//! Each family of signals has a file; [`Extractor::resolve`] assigns every kind of [`Signal`] to one. A new kind does
//! not compile until it is handled there (`docs/adding-a-signal.md`).

mod acceleration;
mod action;
mod contact;
mod course;
mod derived;
mod force;
mod geometry;
mod greatest_speed;
mod groups;
mod involved;
mod joint;
mod motion;
mod physics_signal;
mod position;
mod proximity;

use assay_scenario::{Frame, Robot, Scenario, Signal};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle::{self, FrameId, RobotIds};
use acceleration::{Acceleration, Agitation, ApparentTilt};
use action::ActionSignal;
use contact::{ContactForce, Penetration};
use course::{Crossed, Visited};
use derived::{Derived, Reversals};
use force::Force;
pub(crate) use geometry::sphere_distance;
use greatest_speed::GreatestSpeed;
pub(crate) use groups::Groups;
use involved::NOT_INVOLVED;
use joint::{JointPositionMargin, JointSpeed, JointTorqueRatio, JointValue, JointVelocityRatio};
use motion::{AngularSpeed, Speed, relative_speed};
use physics_signal::PhysicsSignal;
pub(crate) use physics_signal::StepState;
use position::{Displacement, Geofence, Inside, PointDistance, Position, Tilt};
use proximity::{ApproachSpeed, Distance};

/// A signal with its names resolved.
pub(crate) enum Extractor {
    /// Computed from the physics.
    Physics(Box<dyn PhysicsSignal>),
    /// Computed from another signal.
    Derived(Derived),
}

impl Extractor {
    pub(crate) fn resolve(
        model: &MjModel,
        scenario: &Scenario,
        robots: &[RobotIds],
        groups: &Groups,
        (name, signal): &(String, Signal),
    ) -> Result<Self, WorldError> {
        let key = format!("signals.{name}");
        let find = |of: &Frame| handle::frame(model, of, &key);
        let find_all = |frames: &[Frame]| frames.iter().map(find).collect::<Result<Vec<FrameId>, _>>();
        let robot = |name: &str| -> (&RobotIds, &Robot) {
            let index = scenario.robots.iter().position(|robot| robot.name == name).unwrap_or(0);
            (&robots[index], &scenario.robots[index])
        };
        let other = |b: &Option<String>| b.as_ref().map(|b| groups.bit(b));
        let timestep_s = scenario.world.timestep_s;
        // No catch-all here: a kind of signal that no family handles must not compile.
        Ok(match signal {
            Signal::Distance { a, b, cutoff } => physics(Distance::new(groups.pairs(a, b), *cutoff)),
            Signal::ApproachSpeed { a, b, within } => physics(ApproachSpeed::new(groups.pairs(a, b), *within)),
            Signal::ContactForce { a, b } => physics(ContactForce::new(groups.bit(a), other(b))),
            Signal::Force { a, b, bandwidth_hz } => {
                physics(Force::new(groups.bit(a), other(b), *bandwidth_hz, timestep_s))
            }
            Signal::Penetration { a, b } => physics(Penetration::new(groups.bit(a), other(b))),
            Signal::Speed { of } => physics(Speed(find(of)?)),
            Signal::AngularSpeed { of } => physics(AngularSpeed(find(of)?)),
            Signal::RelativeSpeed { from, to } => Self::Physics(relative_speed(model, find(from)?, find(to)?)),
            Signal::GreatestSpeed { of } => physics(GreatestSpeed::new(model, groups.geoms_of(of))),
            Signal::Acceleration { of, window_s } => physics(Acceleration::new(find(of)?, *window_s, timestep_s)),
            Signal::ApparentTilt { of, window_s } => {
                physics(ApparentTilt::new(model, find(of)?, *window_s, timestep_s))
            }
            Signal::Agitation { of, window_s } => physics(Agitation::new(find(of)?, *window_s, timestep_s)),
            Signal::Action { name } => physics(ActionSignal::resolve(scenario, name)),
            Signal::PointDistance { from, to } => physics(PointDistance { from: find(from)?, to: find(to)? }),
            Signal::Position { of, axis } => physics(Position { of: find(of)?, axis: *axis as usize }),
            Signal::Displacement { of } => physics(Displacement { of: find(of)?, start: None }),
            Signal::Tilt { of } => physics(Tilt(find(of)?)),
            Signal::Geofence { of, low, high } => physics(Geofence { of: find(of)?, low: *low, high: *high }),
            Signal::Inside { of, within } => physics(Inside::resolve(model, of, within, &key)?),
            Signal::Visited { of, frames, radius } => {
                let frames = find_all(frames)?;
                physics(Visited { of: find(of)?, frames, radius: *radius, reached: 0 })
            }
            Signal::Crossed { of, frames, half_size } => {
                let frames = find_all(frames)?;
                physics(Crossed::new(find(of)?, frames, *half_size))
            }
            Signal::JointValue { joint } => physics(JointValue(handle::joint(model, joint, &key)?.0)),
            Signal::JointSpeed { joint } => physics(JointSpeed(handle::joint(model, joint, &key)?.1)),
            Signal::JointPositionMargin { robot: name } => physics(JointPositionMargin::new(robot(name))),
            Signal::JointVelocityRatio { robot: name } => physics(JointVelocityRatio::new(robot(name))),
            Signal::JointTorqueRatio { robot: name } => physics(JointTorqueRatio::new(robot(name))),
            Signal::Rate { signal } => {
                Self::Derived(Derived::Rate { of: column(scenario, signal), before: None, value: 0.0 })
            }
            Signal::Reversals { signal, band, window_s } => {
                Self::Derived(Derived::Reversals(Reversals::new(column(scenario, signal), *band, *window_s)))
            }
            Signal::Exposure { signal, below } => {
                let of = column(scenario, signal);
                Self::Derived(Derived::Exposure { of, below: *below, then_s: 0.0, total_s: 0.0 })
            }
        })
    }

    /// Writes all values into `sample`, after the time at its start: first the signals computed from the physics, then
    /// those derived from them.
    pub(crate) fn measure_all(all: &mut [Self], step: &mut StepState<'_>, sample: &mut [f64]) {
        for (slot, extractor) in sample[1..].iter_mut().zip(&mut *all) {
            *slot = match extractor {
                Self::Physics(signal) => signal.value(step),
                // Computed below, once the others are known.
                Self::Derived(_) => 0.0,
            };
        }
        for (i, extractor) in all.iter_mut().enumerate() {
            if let Self::Derived(derived) = extractor {
                sample[i + 1] = derived.value(sample);
            }
        }
    }

    /// See [`PhysicsSignal::involved`].
    pub(crate) fn involved(&self) -> u32 {
        match self {
            Self::Physics(signal) => signal.involved(),
            Self::Derived(_) => NOT_INVOLVED,
        }
    }

    /// See [`PhysicsSignal::involved_names`].
    pub(crate) fn involved_names(&self, model: &MjModel, involved: u32) -> Vec<String> {
        match self {
            Self::Physics(signal) => signal.involved_names(model, involved),
            Self::Derived(_) => Vec::new(),
        }
    }
}

fn physics(signal: impl PhysicsSignal + 'static) -> Extractor {
    Extractor::Physics(Box::new(signal))
}

/// Returns the column of a signal in a sample.
fn column(scenario: &Scenario, signal: &str) -> usize {
    scenario.signal_names().iter().position(|name| *name == signal).unwrap_or(0)
}
