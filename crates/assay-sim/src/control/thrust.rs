//! Thrust: collective thrust and body rates of a multicopter, as a flight controller accepts them. A proportional rate
//! controller runs at the physics rate; a mixer distributes thrust and torques among the rotors.

use assay_scenario::Rotors;
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle;

/// The controller's state.
pub(crate) struct Thrust {
    rotors: Rotors,
    actuators: Vec<usize>,
    /// Index in qvel at which the angular velocity of the flying body begins; MuJoCo stores it in the body's axes.
    rates: usize,
    /// Thrust in N and body rates in rad/s requested.
    wanted: [f64; 4],
}

impl Thrust {
    pub(crate) fn resolve(model: &MjModel, robot: &str, site: usize, rotors: &Rotors) -> Result<Self, WorldError> {
        let key = "robot.toml: rotors";
        let actuator = |name: &String| handle::actuator(model, &format!("{robot}/{name}"), key);
        let actuators = rotors.actuators.iter().map(actuator).collect::<Result<_, _>>()?;
        let missing = || WorldError::Missing { key: key.to_owned(), what: format!("free joint on robot {robot:?}") };
        let index = |i: i32| usize::try_from(i).map_err(|_| missing());
        let body = index(model.site_bodyid()[site])?;
        let joint = index(model.body_jntadr()[body])?;
        if model.jnt_type()[joint] != MjtJoint::mjJNT_FREE {
            return Err(missing());
        }
        let rates = index(model.jnt_dofadr()[joint])? + 3;
        Ok(Self { rotors: rotors.clone(), actuators, rates, wanted: [0.0; 4] })
    }

    /// Sets the requested motion. `action`: thrust in N, body rates in rad/s.
    pub(crate) fn act(&mut self, action: &[f64]) {
        let rotors = &self.rotors;
        let most = rotors.max_thrust_n * rotors.actuators.len() as f64;
        self.wanted[0] = action[0].clamp(0.0, most);
        for axis in 0..3 {
            self.wanted[1 + axis] = action[1 + axis].clamp(-rotors.max_rate[axis], rotors.max_rate[axis]);
        }
    }

    pub(crate) fn before_step(&mut self, data: &mut MjData<Box<MjModel>>) {
        let rates = [0, 1, 2].map(|axis| data.qvel()[self.rates + axis]);
        let torque = torque(&self.rotors, &self.wanted[1..], rates);
        let shares = mix(&self.rotors, self.wanted[0], torque);
        for (actuator, thrust) in self.actuators.iter().zip(shares) {
            data.ctrl_mut()[*actuator] = thrust;
        }
    }
}

/// Returns `J gain (wanted - rates) + rates x (J rates)`.
fn torque(rotors: &Rotors, wanted: &[f64], rates: [f64; 3]) -> [f64; 3] {
    let j = rotors.inertia;
    let [p, q, r] = rates;
    let turning = [(j[2] - j[1]) * q * r, (j[0] - j[2]) * r * p, (j[1] - j[0]) * p * q];
    [0, 1, 2].map(|i| j[i] * rotors.rate_gain[i] * (wanted[i] - rates[i]) + turning[i])
}

/// Returns the thrust of each rotor. If one would be negative or too large, torques are reduced, yaw first, because
/// lift and attitude have priority.
fn mix(rotors: &Rotors, thrust: f64, torque: [f64; 3]) -> Vec<f64> {
    let n = rotors.actuators.len();
    let even = thrust / n as f64;
    let square = |list: &[f64]| list.iter().map(|x| x * x).sum::<f64>();
    let (xx, yy, cc) = (square(&rotors.x), square(&rotors.y), square(&rotors.torque_per_thrust_m));
    let level: Vec<f64> = (0..n).map(|i| torque[0] * rotors.y[i] / yy - torque[1] * rotors.x[i] / xx).collect();
    let turn: Vec<f64> = (0..n).map(|i| torque[2] * rotors.torque_per_thrust_m[i] / cc).collect();
    let mut shares = vec![even; n];
    for part in [level, turn] {
        let room = |share: f64, change: f64| {
            let limit = if change > 0.0 { rotors.max_thrust_n - share } else { share };
            if change.abs() > limit { limit.max(0.0) / change.abs() } else { 1.0 }
        };
        let scale = shares.iter().zip(&part).map(|(share, change)| room(*share, *change)).fold(1.0, f64::min);
        shares.iter_mut().zip(&part).for_each(|(share, change)| *share += scale * change);
    }
    shares.iter().map(|share| share.clamp(0.0, rotors.max_thrust_n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cross() -> Rotors {
        let (a, c) = (0.03, 0.006);
        Rotors {
            actuators: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
            x: vec![a, -a, -a, a],
            y: vec![-a, -a, a, a],
            torque_per_thrust_m: vec![c, -c, c, -c],
            max_thrust_n: 0.15,
            max_rate: [10.0; 3],
            rate_gain: [20.0; 3],
            inertia: [1.6e-5, 1.7e-5, 2.9e-5],
        }
    }

    #[test]
    fn the_mixer_produces_the_requested_torques_within_the_limits() {
        let rotors = cross();
        let (thrust, torque) = (0.3, [1e-4, -2e-4, 5e-5]);
        let shares = mix(&rotors, thrust, torque);
        let sum = |by: &[f64]| shares.iter().zip(by).map(|(share, arm)| share * arm).sum::<f64>();
        let got = [sum(&[1.0; 4]), sum(&rotors.y), -sum(&rotors.x), sum(&rotors.torque_per_thrust_m)];
        for (got, wanted) in got.into_iter().zip([thrust, torque[0], torque[1], torque[2]]) {
            assert!((got - wanted).abs() < 1e-12, "{got} not {wanted}");
        }
    }

    #[test]
    fn rotor_thrusts_stay_within_their_limits() {
        let rotors = cross();
        for thrust in [0.0, 0.01, 0.3, 0.59, 0.6] {
            for torque in [[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.01, -0.01, -0.3]] {
                let shares = mix(&rotors, thrust, torque);
                assert!(shares.iter().all(|share| (0.0..=rotors.max_thrust_n).contains(share)), "{shares:?}");
                assert!((shares.iter().sum::<f64>() - thrust).abs() < 1e-12, "thrust has priority: {shares:?}");
            }
        }
    }
}
