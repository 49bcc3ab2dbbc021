//! Signals: the scenario's named quantities, computed after each physics step for the moment at which it began.

mod acceleration;
mod approach;
mod crossed;
mod derived;
mod force;
mod greatest_speed;
mod inside;
mod involved;

use std::ops::Neg;

use assay_scenario::{Scenario, Signal};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle::{self, FrameId, RobotIds};
use acceleration::{Acceleration, Agitation, ApparentTilt};
use approach::Approach;
use crossed::Crossed;
use derived::{Derived, RelativeSpeed, Reversals, Visited};
use force::Force;
use greatest_speed::GreatestSpeed;
use inside::Inside;
use involved::{NOBODY, pair};

/// Most groups a scenario can have (a bit each).
const MAX_GROUPS: usize = 64;

type Data = MjData<Box<MjModel>>;

/// Which groups each geom belongs to, as bits in the order of the scenario's groups.
pub(crate) struct Groups {
    names: Vec<String>,
    masks: Vec<u64>,
}

impl Groups {
    pub(crate) fn resolve(model: &MjModel, scenario: &Scenario) -> Result<Self, WorldError> {
        if scenario.groups.len() > MAX_GROUPS {
            let value = scenario.groups.len() as u64;
            return Err(WorldError::TooLarge { what: "groups", value, limit: MAX_GROUPS as u64 });
        }
        let mut masks = vec![0; model.geom_bodyid().len()];
        for (bit, (group, globs)) in scenario.groups.iter().enumerate() {
            let mut found = false;
            for (geom, mask) in masks.iter_mut().enumerate() {
                let body = usize::try_from(model.geom_bodyid()[geom]).unwrap_or(0);
                let names =
                    [model.id_to_name(MjtObjBase::mjOBJ_GEOM, geom), model.id_to_name(MjtObjBase::mjOBJ_BODY, body)];
                let collides = model.geom_contype()[geom] != 0 || model.geom_conaffinity()[geom] != 0;
                let matches = |name: &&str| globs.iter().any(|glob| matches_glob(glob, name));
                if collides && names.iter().flatten().any(matches) {
                    *mask |= 1 << bit;
                    found = true;
                }
            }
            if !found {
                return Err(WorldError::EmptyGroup(group.clone()));
            }
        }
        Ok(Self { names: scenario.groups.keys().cloned().collect(), masks })
    }

    fn bit(&self, group: &str) -> u64 {
        self.names.iter().position(|name| name == group).map_or(0, |bit| 1 << bit)
    }

    pub(crate) fn geoms_of(&self, group: &str) -> Vec<usize> {
        self.geoms(self.bit(group))
    }

    fn geoms(&self, bit: u64) -> Vec<usize> {
        (0..self.masks.len()).filter(|geom| self.masks[*geom] & bit != 0).collect()
    }
}

/// `*` matches any run of characters; everything else itself. Takes the leftmost place for each part, which is enough, and
/// keeps the time within the product of both lengths.
fn matches_glob(glob: &str, name: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(mut rest) = parts.next().and_then(|head| name.strip_prefix(head)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    // Without a star, nothing may be left.
    let Some(tail) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(tail)
}

/// One signal, ready to compute.
pub(crate) enum Extractor {
    Distance {
        pairs: Vec<(usize, usize)>,
        cutoff: f64,
        nearest: usize,
        /// As [`Extractor::involved`], here and below.
        who: u32,
    },
    ContactForce {
        a: u64,
        b: Option<u64>,
        who: u32,
    },
    Force(Force),
    Penetration {
        a: u64,
        b: Option<u64>,
        who: u32,
    },
    Speed(FrameId),
    AngularSpeed(FrameId),
    Acceleration(Acceleration),
    ApparentTilt(ApparentTilt),
    Agitation(Agitation),
    Approach(Approach),
    GreatestSpeed(GreatestSpeed),
    Action(usize),
    Crossed(Crossed),
    RelativeSpeed(FrameId, FrameId),
    /// The second is where it was at first.
    Displacement(FrameId, Option<[f64; 3]>),
    Inside(Inside),
    PointDistance(FrameId, FrameId),
    Position(FrameId, usize),
    JointValue(usize),
    JointSpeed(usize),
    JointPositionMargin {
        qpos: Vec<usize>,
        low: Vec<f64>,
        high: Vec<f64>,
        who: u32,
    },
    JointVelocityRatio {
        dof: Vec<usize>,
        limit: Vec<f64>,
        who: u32,
    },
    JointTorqueRatio {
        dof: Vec<usize>,
        limit: Vec<f64>,
        who: u32,
    },
    Tilt(FrameId),
    Geofence {
        of: FrameId,
        low: [f64; 3],
        high: [f64; 3],
    },
    ActorSpeed(RelativeSpeed),
    Visited(Visited),
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
        let frame = |of| handle::frame(model, of, &key);
        let robot = |name: &str| {
            let index = scenario.robots.iter().position(|robot| robot.name == name).unwrap_or(0);
            (&robots[index], &scenario.robots[index].model.limits)
        };
        Ok(match signal {
            Signal::Distance { a, b, cutoff } => {
                Self::Distance { pairs: pairs(groups, a, b), cutoff: *cutoff, nearest: 0, who: NOBODY }
            }
            Signal::ContactForce { a, b } => {
                Self::ContactForce { a: groups.bit(a), b: b.as_ref().map(|b| groups.bit(b)), who: NOBODY }
            }
            Signal::Force { a, b, bandwidth_hz } => {
                let b = b.as_ref().map(|b| groups.bit(b));
                Self::Force(Force::new(groups.bit(a), b, *bandwidth_hz, scenario.world.timestep_s))
            }
            Signal::Penetration { a, b } => {
                Self::Penetration { a: groups.bit(a), b: b.as_ref().map(|b| groups.bit(b)), who: NOBODY }
            }
            Signal::Speed { of } => Self::Speed(frame(of)?),
            Signal::AngularSpeed { of } => Self::AngularSpeed(frame(of)?),
            Signal::Acceleration { of, window_s } => {
                Self::Acceleration(Acceleration::new(frame(of)?, *window_s, scenario.world.timestep_s))
            }
            Signal::ApparentTilt { of, window_s } => {
                Self::ApparentTilt(ApparentTilt::new(model, frame(of)?, *window_s, scenario.world.timestep_s))
            }
            Signal::Agitation { of, window_s } => {
                Self::Agitation(Agitation::new(frame(of)?, *window_s, scenario.world.timestep_s))
            }
            Signal::ApproachSpeed { a, b, within } => Self::Approach(Approach::new(pairs(groups, a, b), *within)),
            Signal::GreatestSpeed { of } => Self::GreatestSpeed(GreatestSpeed::new(model, groups.geoms_of(of))),
            Signal::Action { name } => {
                let number = scenario.control.action.iter().position(|spec| spec.name == *name);
                Self::Action(number.unwrap_or(0))
            }
            Signal::Crossed { of, frames, half_size } => {
                let frames = frames.iter().map(frame).collect::<Result<_, _>>()?;
                Self::Crossed(Crossed::new(frame(of)?, frames, *half_size))
            }
            Signal::RelativeSpeed { from, to } => {
                let (from, to) = (frame(from)?, frame(to)?);
                if from.is_actor(model) || to.is_actor(model) {
                    Self::ActorSpeed(RelativeSpeed { from, to, before: None, value: 0.0 })
                } else {
                    Self::RelativeSpeed(from, to)
                }
            }
            Signal::Displacement { of } => Self::Displacement(frame(of)?, None),
            Signal::Inside { of, within } => Self::Inside(Inside::resolve(model, of, within, &key)?),
            Signal::PointDistance { from, to } => Self::PointDistance(frame(from)?, frame(to)?),
            Signal::Position { of, axis } => Self::Position(frame(of)?, *axis as usize),
            Signal::JointValue { joint } => Self::JointValue(handle::joint(model, joint, &key)?.0),
            Signal::JointSpeed { joint } => Self::JointSpeed(handle::joint(model, joint, &key)?.1),
            Signal::JointPositionMargin { robot: name } => {
                let (ids, limits) = robot(name);
                let (low, high) = (limits.position_low.clone(), limits.position_high.clone());
                Self::JointPositionMargin { qpos: ids.qpos.clone(), low, high, who: NOBODY }
            }
            Signal::JointVelocityRatio { robot: name } => {
                let (ids, limits) = robot(name);
                Self::JointVelocityRatio { dof: ids.dof.clone(), limit: limits.velocity.clone(), who: NOBODY }
            }
            Signal::JointTorqueRatio { robot: name } => {
                let (ids, limits) = robot(name);
                Self::JointTorqueRatio { dof: ids.dof.clone(), limit: limits.torque.clone(), who: NOBODY }
            }
            Signal::Tilt { of } => Self::Tilt(frame(of)?),
            Signal::Geofence { of, low, high } => Self::Geofence { of: frame(of)?, low: *low, high: *high },
            Signal::Visited { of, frames, radius } => {
                let frames = frames.iter().map(frame).collect::<Result<_, _>>()?;
                Self::Visited(Visited { of: frame(of)?, frames, radius: *radius, reached: 0 })
            }
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

    /// Writes all values behind the time in `sample`: first what the physics tells, then what is made of that. `qpos`
    /// and `qvel` are those at the start of the step, `action` is the one in effect.
    pub(crate) fn measure(
        all: &mut [Self],
        data: &mut Data,
        groups: &Groups,
        [qpos, qvel, action]: [&[f64]; 3],
        sample: &mut [f64],
    ) {
        let time_s = sample[0];
        for (slot, extractor) in sample[1..].iter_mut().zip(&mut *all) {
            *slot = extractor.value(data, groups, [qpos, qvel, action], time_s);
        }
        for (i, extractor) in all.iter_mut().enumerate() {
            if let Self::Derived(derived) = extractor {
                sample[i + 1] = derived.value(sample);
            }
        }
    }

    pub(crate) fn value(
        &mut self,
        data: &mut Data,
        groups: &Groups,
        [qpos, qvel, action]: [&[f64]; 3],
        time_s: f64,
    ) -> f64 {
        match self {
            Self::Distance { pairs, cutoff, nearest, who } => {
                let least = distance(data, pairs, *cutoff, nearest);
                let near = pairs.get(*nearest).filter(|_| least < *cutoff);
                *who = near.map_or(NOBODY, |(a, b)| pair(groups, *a, *b));
                least
            }
            Self::ContactForce { a, b, who } => {
                let force = |contact| data.contact_force(contact)[0].max(0.0);
                let (total, _, at) = contacts(data, groups, (*a, *b), force);
                *who = at;
                total
            }
            Self::Force(force) => force.value(data, groups),
            Self::Penetration { a, b, who } => {
                let (_, deepest, at) = contacts(data, groups, (*a, *b), |contact| -data.contact()[contact].dist);
                *who = at;
                deepest
            }
            Self::Speed(frame) => norm(&frame.velocity(data)[3..]),
            Self::AngularSpeed(frame) => norm(&frame.velocity(data)[..3]),
            Self::Acceleration(acceleration) => acceleration.value(data),
            Self::ApparentTilt(tilt) => tilt.value(data),
            Self::Agitation(agitation) => agitation.value(data),
            Self::Approach(approach) => approach.value(data),
            Self::GreatestSpeed(speed) => speed.value(data),
            Self::Action(number) => action[*number],
            Self::Crossed(crossed) => crossed.value(data),
            Self::RelativeSpeed(from, to) => {
                let (from, to) = (from.velocity(data), to.velocity(data));
                norm(&[to[3] - from[3], to[4] - from[4], to[5] - from[5]])
            }
            Self::Displacement(frame, start) => {
                let now = frame.position(data);
                apart(*start.get_or_insert(now), now)
            }
            Self::Inside(inside) => inside.value(data),
            Self::PointDistance(from, to) => apart(from.position(data), to.position(data)),
            Self::Position(frame, axis) => frame.position(data)[*axis],
            Self::JointValue(index) => qpos[*index],
            Self::JointSpeed(index) => qvel[*index],
            Self::JointPositionMargin { qpos: indices, low, high, who } => {
                let margin = |(i, (low, high)): (&usize, (&f64, &f64))| (qpos[*i] - *low).min(*high - qpos[*i]);
                extreme(indices.iter().zip(low.iter().zip(&*high)).map(|entry| -margin(entry)), f64::NEG_INFINITY, who)
                    .neg()
            }
            Self::JointVelocityRatio { dof, limit, who } => greatest_ratio(dof, limit, qvel, who),
            Self::JointTorqueRatio { dof, limit, who } => greatest_ratio(dof, limit, data.qfrc_actuator(), who),
            Self::Tilt(frame) => frame.rotation(data)[8].clamp(-1.0, 1.0).acos(),
            Self::Geofence { of, low, high } => {
                let place = of.position(data);
                (0..3).map(|i| (place[i] - low[i]).min(high[i] - place[i])).fold(f64::INFINITY, f64::min)
            }
            Self::ActorSpeed(speed) => speed.value(data, time_s),
            Self::Visited(visited) => visited.value(data),
            // Its turn comes when the others are known.
            Self::Derived(_) => 0.0,
        }
    }
}

/// The column of a sample that holds the signal.
fn column(scenario: &Scenario, signal: &str) -> usize {
    scenario.signal_names().iter().position(|name| *name == signal).unwrap_or(0)
}

/// All pairs of a geom of group `a` and another one of group `b`.
fn pairs(groups: &Groups, a: &str, b: &str) -> Vec<(usize, usize)> {
    let (a, b) = (groups.geoms_of(a), groups.geoms_of(b));
    a.iter().flat_map(|i| b.iter().map(move |j| (*i, *j))).filter(|(i, j)| i != j).collect()
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    norm(&[b[0] - a[0], b[1] - a[1], b[2] - a[2]])
}

fn greatest_ratio(indices: &[usize], limits: &[f64], values: &[f64], who: &mut u32) -> f64 {
    extreme(indices.iter().zip(limits).map(|(i, limit)| values[*i].abs() / limit), 0.0, who)
}

/// The greatest of the values and `least`; its index goes to `who`.
fn extreme(values: impl Iterator<Item = f64>, least: f64, who: &mut u32) -> f64 {
    *who = NOBODY;
    (0..).zip(values).fold(least, |greatest, (index, value)| {
        if value > greatest {
            *who = index;
        }
        greatest.max(value)
    })
}

/// Over the contacts of two groups: the sum of what is asked of each, the greatest (0 without any), and whose that is.
fn contacts(data: &Data, groups: &Groups, (a, b): (u64, Option<u64>), of: impl Fn(usize) -> f64) -> (f64, f64, u32) {
    // As `Iterator::sum` begins: recordings are compared to the bit.
    contacts_between(data, groups, a, b).fold((-0.0, 0.0, NOBODY), |(total, greatest, who), index| {
        let value = of(index);
        let at = || {
            let geom = |side: usize| usize::try_from(data.contact()[index].geom[side]).unwrap_or(0);
            pair(groups, geom(0), geom(1))
        };
        if value > greatest { (total + value, value, at()) } else { (total + value, greatest, who) }
    })
}

/// Indices of the contacts between group `a` and group `b` (or whatever is not in `a`).
fn contacts_between(data: &Data, groups: &Groups, a: u64, b: Option<u64>) -> impl Iterator<Item = usize> {
    let is_pair = move |one: u64, other: u64| one & a != 0 && b.map_or(other & a == 0, |b| other & b != 0);
    data.contact().iter().enumerate().filter_map(move |(index, contact)| {
        let mask = |geom: i32| usize::try_from(geom).map_or(0, |geom| groups.masks[geom]);
        let (one, other) = (mask(contact.geom[0]), mask(contact.geom[1]));
        (is_pair(one, other) || is_pair(other, one)).then_some(index)
    })
}

/// Least distance over the pairs. The pair that was nearest at the step before goes first, so that bounding spheres
/// rule out nearly all others without a call of the (hundred times dearer) exact distance.
fn distance(data: &mut Data, pairs: &[(usize, usize)], cutoff: f64, nearest: &mut usize) -> f64 {
    let Some(first) = pairs.get(*nearest) else { return cutoff };
    let mut least = data.geom_distance(first.0, first.1, cutoff, None);
    let start = *nearest;
    for (index, (a, b)) in pairs.iter().enumerate() {
        if index != start && sphere_distance(data, *a, *b) < least {
            let exact = data.geom_distance(*a, *b, least, None);
            if exact < least {
                least = exact;
                *nearest = index;
            }
        }
    }
    least
}

/// Distance between two geoms' bounding spheres, a lower bound of theirs.
pub(crate) fn sphere_distance(data: &Data, a: usize, b: usize) -> f64 {
    let radius = |geom: usize| data.model().geom_rbound()[geom];
    // MuJoCo marks an unbounded geom (a plane) with radius 0.
    if radius(a) <= 0.0 || radius(b) <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let (pa, pb) = (data.geom_xpos()[a], data.geom_xpos()[b]);
    norm(&[pb[0] - pa[0], pb[1] - pa[1], pb[2] - pa[2]]) - radius(a) - radius(b)
}

#[cfg(test)]
mod tests {
    use super::matches_glob;

    #[test]
    fn globs() {
        assert!(matches_glob("arm/*", "arm/link1"));
        assert!(matches_glob("post_*", "post_"));
        assert!(matches_glob("*/hand*", "arm/hand_left"));
        assert!(!matches_glob("post_*", "a_post_1"));
        assert!(matches_glob("cart", "cart"));
        assert!(!matches_glob("cart", "cart2"));
        assert!(matches_glob("*", "") && matches_glob("a*b*a", "aba") && matches_glob("a**b", "ab"));
        assert!(!matches_glob("a*a", "a") && !matches_glob("ab*ba", "aba") && !matches_glob("", "a"));
        // Takes for ever where each star tries every place.
        assert!(!matches_glob(&("*a".repeat(40) + "*b"), &"a".repeat(200)));
    }
}
