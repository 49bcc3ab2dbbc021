//! Signals of the contacts between two groups: their normal force and their penetration.

use mujoco_rs::prelude::*;

use super::groups::Groups;
use super::involved::{NOT_INVOLVED, pair_names, pair_number};
use super::physics_signal::{PhysicsSignal, StepState};
use crate::handle::Data;

/// Sum of the normal forces in N.
pub(super) struct ContactForce {
    a: u64,
    b: Option<u64>,
    involved: u32,
}

impl ContactForce {
    pub(super) fn new(a: u64, b: Option<u64>) -> Self {
        Self { a, b, involved: NOT_INVOLVED }
    }
}

impl PhysicsSignal for ContactForce {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let data = &*step.data;
        let force = |contact| data.contact_force(contact)[0].max(0.0);
        let (total, _, involved) = sum_and_greatest(data, step.groups, (self.a, self.b), force);
        self.involved = involved;
        total
    }

    fn involved(&self) -> u32 {
        self.involved
    }

    fn involved_names(&self, model: &MjModel, involved: u32) -> Vec<String> {
        pair_names(model, involved)
    }
}

/// Greatest penetration in m, 0 without contact.
pub(super) struct Penetration {
    a: u64,
    b: Option<u64>,
    involved: u32,
}

impl Penetration {
    pub(super) fn new(a: u64, b: Option<u64>) -> Self {
        Self { a, b, involved: NOT_INVOLVED }
    }
}

impl PhysicsSignal for Penetration {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let data = &*step.data;
        let depth = |contact: usize| -data.contact()[contact].dist;
        let (_, deepest, involved) = sum_and_greatest(data, step.groups, (self.a, self.b), depth);
        self.involved = involved;
        deepest
    }

    fn involved(&self) -> u32 {
        self.involved
    }

    fn involved_names(&self, model: &MjModel, involved: u32) -> Vec<String> {
        pair_names(model, involved)
    }
}

/// Returns the sum of a quantity over the contacts of two groups, the greatest (0 without any), and the number of the
/// pair of geoms that has the greatest.
fn sum_and_greatest(
    data: &Data,
    groups: &Groups,
    (a, b): (u64, Option<u64>),
    quantity: impl Fn(usize) -> f64,
) -> (f64, f64, u32) {
    // `Iterator::sum` begins at -0.0, and recordings are compared to the bit.
    contacts_between(data, groups, a, b).fold((-0.0, 0.0, NOT_INVOLVED), |(total, greatest, involved), index| {
        let value = quantity(index);
        let at = || {
            let geom = |side: usize| usize::try_from(data.contact()[index].geom[side]).unwrap_or(0);
            pair_number(groups, geom(0), geom(1))
        };
        if value > greatest { (total + value, value, at()) } else { (total + value, greatest, involved) }
    })
}

/// Returns the indices of the contacts between group `a` and group `b` (if absent, anything that is not in `a`).
pub(super) fn contacts_between(data: &Data, groups: &Groups, a: u64, b: Option<u64>) -> impl Iterator<Item = usize> {
    let is_pair = move |one: u64, other: u64| one & a != 0 && b.map_or(other & a == 0, |b| other & b != 0);
    data.contact().iter().enumerate().filter_map(move |(index, contact)| {
        let mask = |geom: i32| usize::try_from(geom).map_or(0, |geom| groups.masks[geom]);
        let (one, other) = (mask(contact.geom[0]), mask(contact.geom[1]));
        (is_pair(one, other) || is_pair(other, one)).then_some(index)
    })
}
