//! Motion of the scenario's actors along their tracks. An actor pauses while something that it stops for is in its way.

use assay_scenario::{Scenario, StopsFor, Track};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle::{self, Data};
use crate::signal::{Groups, sphere_distance};

/// The actors of an episode.
pub(crate) struct Actors(Vec<ActorMotion>);

struct ActorMotion {
    mocap: usize,
    track: Track,
    /// Height of the body in the scene, m.
    height: f64,
    /// Orientation of the body in the scene, to which the heading is added.
    quat: [f64; 4],
    stops: Option<Stops>,
    /// Total time for which it has been paused, s.
    delay_s: f64,
}

/// Condition for pausing: pairs of the actor's and other geoms, and the distance to keep.
struct Stops {
    pairs: Vec<(usize, usize)>,
    gap_m: f64,
}

impl Stops {
    fn resolve(model: &MjModel, groups: &Groups, body: usize, stops: &StopsFor) -> Self {
        let own = |geom: &usize| {
            let collides = model.geom_contype()[*geom] != 0 || model.geom_conaffinity()[*geom] != 0;
            collides && usize::try_from(model.geom_bodyid()[*geom]) == Ok(body)
        };
        let (own, others) = ((0..model.geom_bodyid().len()).filter(own), groups.geoms_of(&stops.group));
        let pairs = own.flat_map(|own| others.iter().map(move |other| (own, *other))).collect();
        Self { pairs, gap_m: stops.gap_m }
    }

    /// Returns true if a move along `way` (m) would bring the actor closer to a geom within the distance to keep.
    fn is_blocked(&self, data: &mut Data, way: [f64; 3]) -> bool {
        self.pairs.iter().any(|(own, other)| {
            if sphere_distance(data, *own, *other) >= self.gap_m {
                return false;
            }
            let mut points = [0.0; 6];
            let apart = data.geom_distance(*own, *other, self.gap_m, Some(&mut points));
            let [px, py, pz, qx, qy, qz] = points;
            let nearer = way[0] * (qx - px) + way[1] * (qy - py) + way[2] * (qz - pz) > 0.0;
            apart <= 0.0 || (apart < self.gap_m && nearer)
        })
    }
}

impl Actors {
    pub(crate) fn resolve(
        model: &MjModel,
        scenario: &Scenario,
        groups: &Groups,
        tracks: &[Track],
    ) -> Result<Self, WorldError> {
        let actor = |(i, (actor, track)): (usize, (&assay_scenario::Actor, &Track))| {
            let key = format!("actor[{i}].body");
            let body = handle::body(model, &actor.body, &key)?;
            let what = || format!("mocap body {:?}: write <body name=... mocap=\"true\">", actor.body);
            let mocap = usize::try_from(model.body_mocapid()[body])
                .map_err(|_| WorldError::Missing { key: key.clone(), what: what() })?;
            let (height, quat) = (model.body_pos()[body][2], model.body_quat()[body]);
            let stops = actor.stops_for.as_ref().map(|stops| Stops::resolve(model, groups, body, stops));
            Ok::<_, WorldError>(ActorMotion { mocap, track: track.clone(), height, quat, stops, delay_s: 0.0 })
        };
        Ok(Self(scenario.actors.iter().zip(tracks).enumerate().map(actor).collect::<Result<_, WorldError>>()?))
    }

    /// Moves all actors to their poses at `time_s`.
    pub(crate) fn place(&self, data: &mut Data, time_s: f64) {
        for actor in &self.0 {
            let pose = actor.track.at(time_s - actor.delay_s);
            data.mocap_pos_mut()[actor.mocap] = [pose.x, pose.y, pose.z.unwrap_or(actor.height)];
            data.mocap_quat_mut()[actor.mocap] = rotated(pose.heading, actor.quat);
        }
    }

    /// Pauses actors that would run into something in the next step. Must be called right after a physics step: `data`
    /// must contain the poses of the step's start, as MuJoCo's step leaves them, so that an observation in between does
    /// not affect the actors.
    pub(crate) fn update_pauses(&mut self, data: &mut Data, timestep_s: f64) {
        for actor in &mut self.0 {
            let Some(stops) = &actor.stops else { continue };
            let next_s = data.time() - actor.delay_s;
            let (here, there) = (actor.track.at(next_s - timestep_s), actor.track.at(next_s));
            let rise = there.z.unwrap_or(0.0) - here.z.unwrap_or(0.0);
            let way = [there.x - here.x, there.y - here.y, rise];
            if way != [0.0; 3] && stops.is_blocked(data, way) {
                actor.delay_s += timestep_s;
            }
        }
    }
}

/// Returns `quat` (w, x, y, z) rotated by `heading` about the world's z axis.
fn rotated(heading: f64, [w, x, y, z]: [f64; 4]) -> [f64; 4] {
    let (s, c) = (heading / 2.0).sin_cos();
    [c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w]
}
