//! The rotors of a multicopter, and its onboard rate controller.

use schemars::JsonSchema;
use serde::Deserialize;

/// Properties of the rotors, as lists with one entry per rotor, and the controller of the body rates.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotors {
    /// Force actuators (N along the body's z axis), one per rotor.
    pub actuators: Vec<String>,
    /// x coordinate of each rotor in the body's frame, m.
    pub x: Vec<f64>,
    /// y coordinate of each rotor in the body's frame, m.
    pub y: Vec<f64>,
    /// Torque about the body's z axis per thrust, m, with its sign.
    pub torque_per_thrust_m: Vec<f64>,
    /// Maximum thrust of one rotor, N.
    pub max_thrust_n: f64,
    /// Maximum body rates about x, y, z, rad/s.
    pub max_rate: [f64; 3],
    /// Gain of the rate controller, 1/s: torque = inertia x gain x rate error.
    pub rate_gain: [f64; 3],
    /// Principal moments of inertia about the body's axes, kg m2.
    pub inertia: [f64; 3],
}

impl Rotors {
    pub(super) fn validate(&self) -> Result<(), (String, String)> {
        let n = self.actuators.len();
        if !(3..=16).contains(&n) {
            return Err(("rotors.actuators".to_owned(), "must name 3 to 16 rotors".to_owned()));
        }
        for (key, list) in [("x", &self.x), ("y", &self.y), ("torque_per_thrust_m", &self.torque_per_thrust_m)] {
            if list.len() != n || list.iter().any(|x| !x.is_finite()) {
                return Err((format!("rotors.{key}"), format!("needs {n} finite numbers, one per rotor")));
            }
        }
        // The mixer treats the axes independently, which is correct only if the rotors' lever arms do not couple them.
        let coupled = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>().abs() > 1e-9;
        let ones = vec![1.0; n];
        let axes = [&ones, &self.x, &self.y, &self.torque_per_thrust_m];
        for (i, a) in axes.iter().enumerate() {
            if axes[..i].iter().any(|b| coupled(a, b)) || a.iter().map(|x| x * x).sum::<f64>() < 1e-12 {
                let problem =
                    "rotors must be arranged evenly around the centre and turn in opposite directions".to_owned();
                return Err(("rotors.x".to_owned(), problem));
            }
        }
        Ok(())
    }

    pub(super) fn numbers(&self) -> Vec<(&'static str, f64)> {
        let three = |key, list: [f64; 3]| list.map(|x| (key, x));
        let mut all = vec![("rotors.max_thrust_n", self.max_thrust_n)];
        all.extend(three("rotors.max_rate", self.max_rate));
        all.extend(three("rotors.rate_gain", self.rate_gain));
        all.extend(three("rotors.inertia", self.inertia));
        all
    }
}
