//! Resolution of the scenario's names to indices in the compiled world.

use assay_scenario::{Frame, Robot};
use mujoco_rs::prelude::*;

use crate::WorldError;

/// MuJoCo's state of a simulation, with the model that it belongs to.
pub(crate) type Data = MjData<Box<MjModel>>;

/// A frame by index.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FrameId {
    Site(usize),
    Body(usize),
    Geom(usize),
}

/// A robot's indices.
#[derive(Debug, Clone)]
pub(crate) struct RobotIds {
    /// Index of each arm joint in qpos.
    pub(crate) qpos: Vec<usize>,
    /// Index of each arm joint in qvel.
    pub(crate) dof: Vec<usize>,
    /// Actuator of each arm joint.
    pub(crate) actuators: Vec<usize>,
    /// The tool's site.
    pub(crate) tcp: usize,
    /// The gripper's actuator, its fingers' indices in qpos, and the travel of a finger in m.
    pub(crate) gripper: Option<(usize, Vec<usize>, f64)>,
}

fn id(model: &MjModel, kind: MjtObjBase, word: &str, name: &str, key: &str) -> Result<usize, WorldError> {
    let missing = || WorldError::Missing { key: key.to_owned(), what: format!("{word} {name:?}") };
    if name.contains('\0') {
        return Err(missing());
    }
    model.name_to_id(kind, name).ok_or_else(missing)
}

pub(crate) fn body(model: &MjModel, name: &str, key: &str) -> Result<usize, WorldError> {
    id(model, MjtObjBase::mjOBJ_BODY, "body", name, key)
}

pub(crate) fn geom(model: &MjModel, name: &str, key: &str) -> Result<usize, WorldError> {
    id(model, MjtObjBase::mjOBJ_GEOM, "geom", name, key)
}

pub(crate) fn site(model: &MjModel, name: &str, key: &str) -> Result<usize, WorldError> {
    id(model, MjtObjBase::mjOBJ_SITE, "site", name, key)
}

pub(crate) fn camera(model: &MjModel, name: &str, key: &str) -> Result<usize, WorldError> {
    id(model, MjtObjBase::mjOBJ_CAMERA, "camera", name, key)
}

pub(crate) fn actuator(model: &MjModel, name: &str, key: &str) -> Result<usize, WorldError> {
    id(model, MjtObjBase::mjOBJ_ACTUATOR, "actuator", name, key)
}

/// Returns the indices in qpos and qvel of a joint with one degree of freedom.
pub(crate) fn joint(model: &MjModel, name: &str, key: &str) -> Result<(usize, usize), WorldError> {
    let joint = id(model, MjtObjBase::mjOBJ_JOINT, "joint", name, key)?;
    if !matches!(model.jnt_type()[joint], MjtJoint::mjJNT_HINGE | MjtJoint::mjJNT_SLIDE) {
        return Err(WorldError::Missing { key: key.to_owned(), what: format!("hinge or slide joint {name:?}") });
    }
    let index = |i: i32| usize::try_from(i).unwrap_or(0);
    Ok((index(model.jnt_qposadr()[joint]), index(model.jnt_dofadr()[joint])))
}

pub(crate) fn frame(model: &MjModel, frame: &Frame, key: &str) -> Result<FrameId, WorldError> {
    match frame {
        Frame::Site(name) => site(model, name, key).map(FrameId::Site),
        Frame::Body(name) => body(model, name, key).map(FrameId::Body),
        Frame::Geom(name) => geom(model, name, key).map(FrameId::Geom),
    }
}

pub(crate) fn robot(model: &MjModel, robot: &Robot) -> Result<RobotIds, WorldError> {
    let key = format!("robot {:?}", robot.name);
    let prefixed = |name: &str| format!("{}/{name}", robot.name);
    let mut ids = RobotIds {
        qpos: Vec::new(),
        dof: Vec::new(),
        actuators: Vec::new(),
        tcp: site(model, &prefixed(&robot.model.tcp), &key)?,
        gripper: None,
    };
    for name in &robot.model.joints {
        let (qpos, dof) = joint(model, &prefixed(name), &key)?;
        ids.qpos.push(qpos);
        ids.dof.push(dof);
        ids.actuators.push(actuator(model, &prefixed(name), &key)?);
    }
    if let Some(gripper) = &robot.model.gripper {
        let fingers = gripper.joints.iter().map(|name| Ok(joint(model, &prefixed(name), &key)?.0));
        let fingers = fingers.collect::<Result<_, WorldError>>()?;
        ids.gripper = Some((actuator(model, &prefixed(&gripper.actuator), &key)?, fingers, gripper.open_m));
    }
    Ok(ids)
}

impl FrameId {
    /// Returns the position in m, world axes.
    pub(crate) fn position(self, data: &MjData<Box<MjModel>>) -> [f64; 3] {
        match self {
            Self::Site(i) => data.site_xpos()[i],
            Self::Body(i) => data.xpos()[i],
            Self::Geom(i) => data.geom_xpos()[i],
        }
    }

    /// Returns the rotation matrix, row-major, world axes.
    pub(crate) fn rotation(self, data: &MjData<Box<MjModel>>) -> [f64; 9] {
        match self {
            Self::Site(i) => data.site_xmat()[i],
            Self::Body(i) => data.xmat()[i],
            Self::Geom(i) => data.geom_xmat()[i],
        }
    }

    /// Returns the angular (rad/s), then the linear velocity (m/s), world axes.
    pub(crate) fn velocity(self, data: &MjData<Box<MjModel>>) -> [f64; 6] {
        match self {
            Self::Site(i) => data.object_velocity(MjtObjBase::mjOBJ_SITE, i, false),
            Self::Body(i) => data.object_velocity(MjtObjBase::mjOBJ_XBODY, i, false),
            Self::Geom(i) => data.object_velocity(MjtObjBase::mjOBJ_GEOM, i, false),
        }
    }

    /// Returns the angular velocity in rad/s in the frame's own axes.
    pub(crate) fn own_rates(self, data: &MjData<Box<MjModel>>) -> [f64; 3] {
        let (m, velocity) = (self.rotation(data), self.velocity(data));
        [0, 1, 2].map(|axis| (0..3).map(|row| m[3 * row + axis] * velocity[row]).sum())
    }

    /// Returns true if it belongs to a mocap body, which has no velocity in MuJoCo.
    pub(crate) fn is_actor(self, model: &MjModel) -> bool {
        let index = |i: i32| usize::try_from(i).unwrap_or(0);
        let body = match self {
            Self::Site(i) => index(model.site_bodyid()[i]),
            Self::Body(i) => i,
            Self::Geom(i) => index(model.geom_bodyid()[i]),
        };
        model.body_mocapid()[index(model.body_rootid()[body])] >= 0
    }
}
