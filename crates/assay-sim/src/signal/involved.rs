//! Whom a signal was about when it was measured: two bodies, one, or a joint.

use mujoco_rs::prelude::*;

use super::{Extractor, Groups};

/// Nobody in particular.
pub(super) const NOBODY: u32 = u32::MAX;

/// A number for two geoms.
pub(super) fn pair(groups: &Groups, a: usize, b: usize) -> u32 {
    u32::try_from(a * groups.masks.len() + b).unwrap_or(NOBODY)
}

impl Extractor {
    /// A number for whom the last value was about, which [`Self::names`] understands.
    pub(crate) fn involved(&self) -> u32 {
        match self {
            Self::Distance { who, .. }
            | Self::ContactForce { who, .. }
            | Self::Penetration { who, .. }
            | Self::JointPositionMargin { who, .. }
            | Self::JointVelocityRatio { who, .. }
            | Self::JointTorqueRatio { who, .. } => *who,
            Self::Force(force) => force.who,
            Self::GreatestSpeed(speed) => speed.who(),
            _ => NOBODY,
        }
    }

    /// The names of two bodies, of one, or of a joint; none of nobody.
    pub(crate) fn names(&self, model: &MjModel, who: u32) -> Vec<String> {
        let Some(who) = usize::try_from(who).ok().filter(|_| who != NOBODY) else { return Vec::new() };
        let geoms = model.geom_bodyid().len();
        match self {
            Self::Distance { .. } | Self::ContactForce { .. } | Self::Force(_) | Self::Penetration { .. } => {
                [who / geoms, who % geoms].iter().map(|geom| body(model, *geom)).collect()
            }
            Self::GreatestSpeed(speed) => speed.geom(who).map(|geom| body(model, geom)).into_iter().collect(),
            Self::JointPositionMargin { qpos, .. } => joint(model, qpos.get(who), model.jnt_qposadr()),
            Self::JointVelocityRatio { dof, .. } | Self::JointTorqueRatio { dof, .. } => {
                joint(model, dof.get(who), model.jnt_dofadr())
            }
            _ => Vec::new(),
        }
    }
}

/// The name of a geom's body; of what is fixed to the world, the geom's own.
fn body(model: &MjModel, geom: usize) -> String {
    let body = usize::try_from(model.geom_bodyid()[geom]).unwrap_or(0);
    let of_body = model.id_to_name(MjtObjBase::mjOBJ_BODY, body).filter(|_| body != 0);
    let name = of_body.or_else(|| model.id_to_name(MjtObjBase::mjOBJ_GEOM, geom));
    name.map_or_else(|| format!("geom {geom}"), str::to_owned)
}

fn joint(model: &MjModel, index: Option<&usize>, addresses: &[i32]) -> Vec<String> {
    let at = addresses.iter().position(|address| usize::try_from(*address).ok().as_ref() == index);
    at.and_then(|joint| model.id_to_name(MjtObjBase::mjOBJ_JOINT, joint)).map(str::to_owned).into_iter().collect()
}
