//! The Panda's torques against those that C. Gaz et al. identified on a real arm: "Dynamic Identification of the Franka
//! Emika Panda Robot With Retrieval of Feasible Parameters Using Penalty-Based Optimization", IEEE RA-L 4(4), 2019.
//! What is compared here is not the masses that the model took over, but the torques that the authors' own program
//! computes (github.com/marcocognetti/FrankaEmikaPandaDynModel); both differ by what the retrieval of masses lost.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use mujoco_rs::prelude::*;
use nalgebra::Vector3;

use crate::panda::{GRAVITY, VELOCITY, at_rest, frames, postures, root};

/// Gravity's identified coefficients (kg m): first moments about x and y of each link's frame with all that it carries,
/// from `get_GravityVector.m`. The first link's have no lever.
const MOMENTS: [[f64; 2]; 7] = [
    [0.0, 0.0],
    [-5.368_784_261_474_552e-3, -3.102_575_671_767_16],
    [0.687_353_310_277_526_2, 2.337_649_457_371_796e-2],
    [-0.488_836_024_633_242_9, 1.718_488_169_611_198],
    [-1.000_395_225_355_91e-2, 7.705_324_195_893_029e-2],
    [0.165_680_968_759_300_8, -6.771_174_144_247_946e-2],
    [6.230_758_965_393_622e-3, -4.883_521_085_127_657e-4],
];
/// Furthest that gravity may be off, Nm; on 2000 random postures the greatest difference is 0.22.
const GRAVITY_TOLERANCE_NM: f64 = 0.25;
/// Inertia about the first joint with the arm stretched out level, kg m2: element 1, 1 of `get_MassMatrix.m` at
/// q = (0, pi/2, 0, 0, 0, 0, 0).
const STRETCHED_KG_M2: f64 = 2.5397;
/// Friction (`get_FrictionTorque.m`): amplitude (Nm), slope (s/rad), shift (rad/s).
const FRICTION: [[f64; 3]; 7] = [
    [0.546_15, 5.1181, 0.039_533],
    [0.872_24, 9.0657, 0.025_882],
    [0.640_68, 10.136, -0.046_07],
    [1.2794, 5.5903, 0.036_194],
    [0.839_04, 8.3469, 0.026_226],
    [0.303_01, 17.133, -0.021_047],
    [0.564_89, 10.336, 0.003_552_6],
];

/// The arm as it was identified: without a hand.
fn bare_arm() -> Box<MjModel> {
    let mut text = std::fs::read_to_string(root().join("robots/panda/panda.xml")).unwrap();
    let hand = "mass=\"0.6544\" diaginertia=\"0.00186 0.00030 0.00174\"";
    let finger = "mass=\"0.0291\" diaginertia=\"7.6e-6 8.1e-6 1.6e-6\"";
    for (part, count) in [(hand, 1), (finger, 2)] {
        assert_eq!(text.matches(part).count(), count, "{part}");
        text = text.replace(part, "mass=\"1e-9\" diaginertia=\"1e-12 1e-12 1e-12\"");
    }
    Box::new(MjModel::from_xml_string(&text).unwrap())
}

fn sigmoid([amplitude, slope, shift]: [f64; 3], speed: f64) -> f64 {
    let half = |x: f64| amplitude / (1.0 + (-slope * x).exp());
    half(speed + shift) - half(shift)
}

#[test]
fn gravity_pulls_as_on_the_real_arm() {
    let mut data = MjData::new(bare_arm());
    for q in postures(300) {
        at_rest(&mut data, &q, 0.0);
        let frames = frames(&q);
        for (joint, frame) in frames[..7].iter().enumerate() {
            let axis = frame.rotation * Vector3::z();
            let carried = frames[joint..7].iter().zip(&MOMENTS[joint..]);
            let torque: f64 = carried
                .map(|(frame, [x, y])| GRAVITY * axis.cross(&(frame.rotation * Vector3::new(*x, *y, 0.0))).z)
                .sum();
            let error = (data.qfrc_bias()[joint] - torque).abs();
            assert!(error < GRAVITY_TOLERANCE_NM, "joint {}: {error} Nm off {torque} at {q:?}", joint + 1);
        }
    }
}

#[test]
fn the_stretched_arm_is_as_hard_to_turn_as_the_real_one() {
    let mut data = MjData::new(bare_arm());
    at_rest(&mut data, &[0.0, std::f64::consts::FRAC_PI_2, 0.0, 0.0, 0.0, 0.0, 0.0], 0.0);
    let mut inertia = vec![0.0; 81];
    data.full_m(&mut inertia).unwrap();
    let links = inertia[0] - data.model().dof_armature()[0];
    assert!((links / STRETCHED_KG_M2 - 1.0).abs() < 0.03, "{links} kg m2, the paper's program {STRETCHED_KG_M2}");
}

#[test]
fn joints_rub_as_on_the_real_arm() {
    let mut data = MjData::new(bare_arm());
    let middle = [0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8];
    for (joint, friction) in FRICTION.into_iter().enumerate() {
        for share in [0.25, 0.5, 1.0] {
            let speed = share * VELOCITY[joint];
            let rubs = |data: &mut MjData<Box<MjModel>>, speed: f64| {
                at_rest(data, &middle, 0.0);
                data.qvel_mut()[joint] = speed;
                // Targets that ask the servos for no torque: only friction slows the joint down.
                let servo = data.model().actuator_biasprm()[joint];
                data.ctrl_mut()[..7].copy_from_slice(&middle);
                data.ctrl_mut()[joint] += servo[2] / servo[1] * speed;
                data.forward();
                -data.qfrc_passive()[joint] - data.qfrc_constraint()[joint]
            };
            let both = (rubs(&mut data, speed) - rubs(&mut data, -speed)) / 2.0;
            let published = (sigmoid(friction, speed) - sigmoid(friction, -speed)) / 2.0;
            assert!(
                (both / published - 1.0).abs() < 0.2,
                "joint {} at {speed} rad/s: {both} Nm, published {published}",
                joint + 1
            );
        }
    }
}
