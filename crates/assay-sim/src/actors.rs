//! Puts the scenario's actors where their tracks say.

use assay_scenario::{Scenario, Track};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle;

/// The actors of an episode.
pub(crate) struct Actors(Vec<Actor>);

struct Actor {
    mocap: usize,
    track: Track,
    /// Height of the body in the scene, m.
    height: f64,
    /// Its orientation there, turned by the heading.
    quat: [f64; 4],
}

impl Actors {
    pub(crate) fn resolve(model: &MjModel, scenario: &Scenario, tracks: &[Track]) -> Result<Self, WorldError> {
        let actor = |(i, (actor, track)): (usize, (&assay_scenario::Actor, &Track))| {
            let key = format!("actor[{i}].body");
            let body = handle::body(model, &actor.body, &key)?;
            let what = || format!("mocap body {:?}: write <body name=... mocap=\"true\">", actor.body);
            let mocap = usize::try_from(model.body_mocapid()[body])
                .map_err(|_| WorldError::Missing { key: key.clone(), what: what() })?;
            let (height, quat) = (model.body_pos()[body][2], model.body_quat()[body]);
            Ok::<_, WorldError>(Actor { mocap, track: track.clone(), height, quat })
        };
        Ok(Self(scenario.actors.iter().zip(tracks).enumerate().map(actor).collect::<Result<_, WorldError>>()?))
    }

    /// Moves them to where they are at `time_s`.
    pub(crate) fn place(&self, data: &mut MjData<Box<MjModel>>, time_s: f64) {
        for actor in &self.0 {
            let pose = actor.track.at(time_s);
            data.mocap_pos_mut()[actor.mocap] = [pose.x, pose.y, pose.z.unwrap_or(actor.height)];
            data.mocap_quat_mut()[actor.mocap] = turned(pose.heading, actor.quat);
        }
    }
}

/// `quat` (w, x, y, z) turned by `heading` about the world's z axis.
fn turned(heading: f64, [w, x, y, z]: [f64; 4]) -> [f64; 4] {
    let (s, c) = (heading / 2.0).sin_cos();
    [c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w]
}
