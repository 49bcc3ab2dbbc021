//! Observations: little-endian doubles, images and depth images, in the scenario's order.

mod cameras;
mod ranges;

use assay_model::Generator;
use assay_model::frame::ArraySpec;
use assay_scenario::{ObservationKind, Scenario};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle::{self, Data, FrameId, RobotIds};
pub(crate) use cameras::Cameras;
use ranges::Scanner;

/// Adds normal noise with standard deviation `sd` to the doubles in `bytes`.
pub(crate) fn add_noise(bytes: &mut [u8], sd: f64, generator: &mut Generator) {
    for slot in bytes.chunks_exact_mut(8) {
        let mut number = [0; 8];
        number.copy_from_slice(slot);
        slot.copy_from_slice(&(f64::from_le_bytes(number) + sd * generator.normal()).to_le_bytes());
    }
}

/// A term of the observation with its names resolved.
pub(crate) enum Term {
    Positions(Vec<usize>),
    Velocities(Vec<usize>),
    GripperWidth(Vec<usize>),
    Position(FrameId),
    Orientation(FrameId),
    LinearVelocity(FrameId),
    RelativePosition(FrameId, FrameId),
    Size(usize),
    Signal(usize),
    BodyRates(FrameId),
    Ranges(Scanner),
    /// Index of the camera.
    Image(usize),
    /// The depth of the image before it; index of the camera.
    Depth(usize),
    LastAction,
}

/// An array of the observation.
pub(crate) struct ObservedArray {
    pub(crate) spec: ArraySpec,
    pub(crate) term: Term,
    /// Standard deviation of the noise added to each number.
    pub(crate) noise: f64,
}

/// Sources of an observation besides the physics.
pub(crate) struct Sources<'a> {
    pub(crate) data: &'a mut Data,
    /// Signals of the last sample, `time` first.
    pub(crate) sample: &'a [f64],
    pub(crate) last_action: &'a [f64],
    pub(crate) cameras: &'a Cameras,
}

impl Term {
    /// Resolves the scenario's terms, in wire order.
    pub(crate) fn resolve_all(
        model: &MjModel,
        scenario: &Scenario,
        robots: &[RobotIds],
    ) -> Result<Vec<ObservedArray>, WorldError> {
        let (mut arrays, mut cameras) = (Vec::new(), 0);
        for observation in &scenario.observations {
            let key = format!("observation {:?}", observation.name);
            let mut term = Self::resolve(model, scenario, robots, &observation.kind, &key)?;
            if let Self::Image(camera) = &mut term {
                *camera = cameras;
                cameras += 1;
            }
            let (spec, depth) = scenario.array_specs(observation);
            arrays.push(ObservedArray { spec, term, noise: observation.noise });
            arrays.extend(depth.map(|spec| ObservedArray { spec, term: Self::Depth(cameras - 1), noise: 0.0 }));
        }
        Ok(arrays)
    }

    fn resolve(
        model: &MjModel,
        scenario: &Scenario,
        robots: &[RobotIds],
        kind: &ObservationKind,
        key: &str,
    ) -> Result<Self, WorldError> {
        let frame = |of| handle::frame(model, of, key);
        let robot = |name: &str| &robots[scenario.robots.iter().position(|r| r.name == name).unwrap_or(0)];
        let joints =
            |names: &[String]| names.iter().map(|name| handle::joint(model, name, key)).collect::<Result<Vec<_>, _>>();
        Ok(match kind {
            ObservationKind::JointPosition { robot: Some(name), .. } => Self::Positions(robot(name).qpos.clone()),
            ObservationKind::JointPosition { robot: None, joints: names } => {
                Self::Positions(joints(names)?.into_iter().map(|(qpos, _)| qpos).collect())
            }
            ObservationKind::JointVelocity { robot: Some(name), .. } => Self::Velocities(robot(name).dof.clone()),
            ObservationKind::JointVelocity { robot: None, joints: names } => {
                Self::Velocities(joints(names)?.into_iter().map(|(_, dof)| dof).collect())
            }
            ObservationKind::GripperWidth { robot: name } => {
                let what = || format!("gripper on robot {name:?}");
                let missing = || WorldError::Missing { key: key.to_owned(), what: what() };
                Self::GripperWidth(robot(name).gripper.as_ref().ok_or_else(missing)?.1.clone())
            }
            ObservationKind::Position { of } => Self::Position(frame(of)?),
            ObservationKind::Orientation { of } => Self::Orientation(frame(of)?),
            ObservationKind::LinearVelocity { of } => Self::LinearVelocity(frame(of)?),
            ObservationKind::RelativePosition { from, to } => Self::RelativePosition(frame(from)?, frame(to)?),
            ObservationKind::Size { geom } => Self::Size(handle::geom(model, geom, key)?),
            ObservationKind::Signal { signal } => {
                Self::Signal(scenario.signal_names().iter().position(|name| name == signal).unwrap_or(0))
            }
            ObservationKind::BodyRates { of } => Self::BodyRates(frame(of)?),
            ObservationKind::Ranges { robot: name, lidar } => {
                let robot = scenario.robot(name);
                let one = robot.and_then(|robot| robot.model.lidar.iter().find(|one| one.name == *lidar));
                let what = || format!("scanner {lidar:?} on robot {name:?}");
                let one = one.ok_or_else(|| WorldError::Missing { key: key.to_owned(), what: what() })?;
                Self::Ranges(Scanner::resolve(model, name, one, key)?)
            }
            // The caller knows the index.
            ObservationKind::Image { .. } => Self::Image(0),
            ObservationKind::LastAction {} => Self::LastAction,
        })
    }

    /// Appends the term's bytes.
    pub(crate) fn write(&self, from: &mut Sources<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Image(view) => return out.extend_from_slice(from.cameras.image(*view)),
            Self::Depth(view) => return out.extend_from_slice(from.cameras.depth(*view)),
            _ => {}
        }
        let data = &mut *from.data;
        let mut put =
            |numbers: &mut dyn Iterator<Item = f64>| numbers.for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
        match self {
            Self::Positions(indices) => put(&mut indices.iter().map(|i| data.qpos()[*i])),
            Self::Velocities(indices) => put(&mut indices.iter().map(|i| data.qvel()[*i])),
            Self::GripperWidth(fingers) => put(&mut [fingers.iter().map(|i| data.qpos()[*i]).sum()].into_iter()),
            Self::Position(frame) => put(&mut frame.position(data).into_iter()),
            Self::Orientation(frame) => put(&mut quaternion(&frame.rotation(data)).into_iter()),
            Self::LinearVelocity(frame) => put(&mut frame.velocity(data).into_iter().skip(3)),
            Self::RelativePosition(a, b) => {
                let (a, b) = (a.position(data), b.position(data));
                put(&mut (0..3).map(|i| b[i] - a[i]));
            }
            Self::Size(geom) => put(&mut data.model().geom_size()[*geom].into_iter()),
            Self::Signal(index) => put(&mut [from.sample[*index]].into_iter()),
            Self::BodyRates(frame) => put(&mut frame.own_rates(data).into_iter()),
            Self::Ranges(scanner) => put(&mut scanner.scan(data).into_iter()),
            Self::Image(_) | Self::Depth(_) => {}
            Self::LastAction => put(&mut from.last_action.iter().copied()),
        }
    }
}

/// Returns the unit quaternion (w, x, y, z; w >= 0) of a row-major rotation matrix.
fn quaternion(m: &[f64; 9]) -> [f64; 4] {
    let matrix = nalgebra::Matrix3::from_row_slice(m);
    let rotation = nalgebra::Rotation3::from_matrix_unchecked(matrix);
    let q = nalgebra::UnitQuaternion::from_rotation_matrix(&rotation);
    let sign = if q.w < 0.0 { -1.0 } else { 1.0 };
    [sign * q.w, sign * q.i, sign * q.j, sign * q.k]
}
