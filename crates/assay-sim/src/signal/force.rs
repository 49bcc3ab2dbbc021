//! The signal of contact force, as an instrument with a given bandwidth measures it.
//!
//! The force in a single physics step depends on the step size and the solver: an impact lasts a few steps, and the
//! first of them depends on when within a step the surfaces met. After low-pass filtering, the force converges as the
//! step shrinks.

use mujoco_rs::prelude::*;

use super::contact::contacts_between;
use super::geometry::norm;
use super::involved::{NOT_INVOLVED, pair_names, pair_number};
use super::physics_signal::{PhysicsSignal, StepState};
use crate::handle::Data;

/// Sum over the pairs of bodies in contact of the magnitude of their force, including friction, low-pass filtered.
pub(crate) struct Force {
    a: u64,
    b: Option<u64>,
    filter: Butterworth,
    /// Force of each pair of bodies in this step: on the body with the greater index, in N, world axes.
    pairs: Vec<BodyPair>,
    /// The pair with the greatest force when it was last in contact.
    involved: u32,
}

struct BodyPair {
    bodies: [i32; 2],
    force: [f64; 3],
    /// The geoms of its first contact, which provide the names.
    geoms: [usize; 2],
}

impl Force {
    pub(super) fn new(a: u64, b: Option<u64>, bandwidth_hz: f64, timestep_s: f64) -> Self {
        Self { a, b, filter: Butterworth::new(bandwidth_hz, timestep_s), pairs: Vec::new(), involved: NOT_INVOLVED }
    }

    fn add(&mut self, data: &Data, index: usize) {
        let contact = &data.contact()[index];
        let geoms = contact.geom.map(|geom| usize::try_from(geom).unwrap_or(0));
        let mut bodies = geoms.map(|geom| data.model().geom_bodyid()[geom]);
        let [normal, one, two, ..] = data.contact_force(index);
        // Rows of the frame are the contact's axes; the force is the one on the second geom's body.
        let m = contact.frame;
        let mut force = [0, 1, 2].map(|i| normal * m[i] + one * m[3 + i] + two * m[6 + i]);
        if bodies[0] > bodies[1] {
            bodies.reverse();
            force = force.map(|x| -x);
        }
        match self.pairs.iter_mut().find(|pair| pair.bodies == bodies) {
            Some(pair) => (0..3).for_each(|i| pair.force[i] += force[i]),
            None => self.pairs.push(BodyPair { bodies, force, geoms }),
        }
    }
}

impl PhysicsSignal for Force {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        self.pairs.clear();
        for index in contacts_between(step.data, step.groups, self.a, self.b) {
            self.add(step.data, index);
        }
        let (mut total, mut greatest) = (0.0, 0.0);
        for BodyPair { force, geoms: [one, other], .. } in &self.pairs {
            let size = norm(force);
            total += size;
            if size > greatest {
                greatest = size;
                self.involved = pair_number(step.groups, *one, *other);
            }
        }
        let value = self.filter.next(total).max(0.0);
        if self.pairs.is_empty() && value <= 0.0 {
            self.involved = NOT_INVOLVED;
        }
        value
    }

    fn involved(&self) -> u32 {
        self.involved
    }

    fn involved_names(&self, model: &MjModel, involved: u32) -> Vec<String> {
        pair_names(model, involved)
    }
}

/// Two-pole Butterworth low-pass filter. Its cut-off (-3 dB) is exact for any step size, since the bilinear transform
/// is prewarped, as in the digital filter of ISO 6487:2015, annex A (there run forwards and backwards).
struct Butterworth {
    /// Weights of the last three inputs.
    ahead: [f64; 3],
    /// Weights of the last two outputs.
    back: [f64; 2],
    inputs: [f64; 2],
    outputs: [f64; 2],
}

impl Butterworth {
    fn new(cutoff_hz: f64, timestep_s: f64) -> Self {
        let w = (std::f64::consts::PI * cutoff_hz * timestep_s).tan();
        let all = 1.0 + std::f64::consts::SQRT_2 * w + w * w;
        let gain = w * w / all;
        let back = [2.0 * (1.0 - w * w) / all, (std::f64::consts::SQRT_2 * w - 1.0 - w * w) / all];
        Self { ahead: [gain, 2.0 * gain, gain], back, inputs: [0.0; 2], outputs: [0.0; 2] }
    }

    fn next(&mut self, x: f64) -> f64 {
        let ([a, b, c], [d, e]) = (self.ahead, self.back);
        let y = a * x + b * self.inputs[0] + c * self.inputs[1] + d * self.outputs[0] + e * self.outputs[1];
        self.inputs = [x, self.inputs[0]];
        self.outputs = [y, self.outputs[0]];
        y
    }
}

#[cfg(test)]
#[path = "impact_rig.rs"]
mod impact_rig;

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_1_SQRT_2, TAU};

    use super::Butterworth;

    /// Returns the steady-state amplitude of the output for a sine of amplitude 1, computed from the root mean square
    /// because samples may miss the peaks.
    fn gain(hz: f64, timestep_s: f64) -> f64 {
        let mut filter = Butterworth::new(100.0, timestep_s);
        let wave = |i: i32| (TAU * hz * timestep_s * f64::from(i)).sin();
        let settled: Vec<f64> = (0..3000).map(|i| filter.next(wave(i))).skip(1000).collect();
        (2.0 * settled.iter().map(|y| y * y).sum::<f64>() / settled.len() as f64).sqrt()
    }

    #[test]
    fn the_bandwidth_is_the_same_at_every_step() {
        for timestep_s in [0.002, 0.001, 0.0005] {
            assert!(
                (gain(100.0, timestep_s) - FRAC_1_SQRT_2).abs() < 0.01,
                "{timestep_s}: {}",
                gain(100.0, timestep_s)
            );
            assert!(gain(10.0, timestep_s) > 0.99 && gain(240.0, timestep_s) < 0.18, "{timestep_s}");
        }
    }

    #[test]
    fn a_constant_force_passes_unchanged() {
        let mut filter = Butterworth::new(100.0, 0.002);
        let last = (0..100).map(|_| filter.next(50.0)).fold(0.0, |_, y| y);
        assert!((last - 50.0).abs() < 1e-9, "{last}");
    }
}
