//! The Panda's model against the maker's published figures, computed here from nothing but those figures.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
use std::path::{Path, PathBuf};

use assay_model::Generator;
use assay_scenario::Library;
use mujoco_rs::prelude::*;
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

/// Craig's DH parameters a (m), d (m), alpha (rad) of joints 1 to 7: Franka Control Interface documentation.
const DH: [(f64, f64, f64); 7] = [
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -FRAC_PI_2),
    (0.0, 0.316, FRAC_PI_2),
    (0.0825, 0.0, FRAC_PI_2),
    (-0.0825, 0.384, -FRAC_PI_2),
    (0.0, 0.0, FRAC_PI_2),
    (0.088, 0.0, FRAC_PI_2),
];
/// From joint 7 to the flange, m.
const FLANGE_M: f64 = 0.107;
/// Mass (kg) and centre of mass (m) of links 1 to 7: Gaz et al., IEEE RA-L 4(4), 2019.
const LINKS: [(f64, [f64; 3]); 7] = [
    (4.970_684, [0.003_875, 0.002_081, -0.047_62]),
    (0.646_926, [-0.003_141, -0.028_72, 0.003_495]),
    (3.228_604, [0.027_518, 0.039_252, -0.066_502]),
    (3.587_895, [-0.053_17, 0.104_419, 0.027_454]),
    (1.225_946, [-0.011_953, 0.041_065, -0.038_437]),
    (1.666_555, [0.060_149, -0.014_117, -0.010_517]),
    (0.735_522, [0.010_517, -0.004_252, 0.061_597]),
];
/// Mass and centre of mass of the hand, in its own frame: frankarobotics/franka_description.
const HAND: (f64, [f64; 3]) = (0.6544, [-0.00004, 0.01191, 0.02073]);
/// Mass of a finger, kg.
const FINGER_KG: f64 = 0.0291;
/// Centre of mass of a closed finger in the hand's frame, m; the model's own figure, the maker gives none.
const FINGER: [f64; 3] = [0.0, 0.0095, 0.0584 + 0.027];
/// Mass of the base, which nothing here depends on, kg: frankarobotics/franka_description.
const BASE_KG: f64 = 2.3966;
pub(crate) const GRAVITY: f64 = 9.81;
const LOW: [f64; 7] = [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973];
const HIGH: [f64; 7] = [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973];
pub(crate) const VELOCITY: [f64; 7] = [2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61];
const ACCELERATION: [f64; 7] = [15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0];
const TORQUE: [f64; 7] = [87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn model() -> MjModel {
    MjModel::from_xml(root().join("robots/panda/panda.xml")).unwrap()
}

/// Frames of links 1 to 7 and of the flange in the base's frame, by Craig's convention.
pub(crate) fn frames(q: &[f64; 7]) -> Vec<Isometry3<f64>> {
    let mut frame = Isometry3::identity();
    let mut frames = Vec::new();
    for ((a, d, alpha), q) in DH.iter().zip(q) {
        let turn = |axis, angle| UnitQuaternion::from_axis_angle(&axis, angle);
        frame *= turn(Vector3::x_axis(), *alpha);
        frame = frame * Translation3::new(*a, 0.0, 0.0) * turn(Vector3::z_axis(), *q) * Translation3::new(0.0, 0.0, *d);
        frames.push(frame);
    }
    frames.push(frame * Translation3::new(0.0, 0.0, FLANGE_M));
    frames
}

pub(crate) fn postures(count: usize) -> Vec<[f64; 7]> {
    let mut generator = Generator::new(7);
    (0..count).map(|_| std::array::from_fn(|i| generator.uniform(LOW[i], HIGH[i]))).collect()
}

/// The model at rest in a posture.
pub(crate) fn at_rest(data: &mut MjData<Box<MjModel>>, q: &[f64; 7], finger_m: f64) {
    data.qpos_mut()[..7].copy_from_slice(q);
    data.qpos_mut()[7..9].fill(finger_m);
    data.qvel_mut().fill(0.0);
    data.forward();
}

#[test]
fn the_flange_is_where_the_dh_table_puts_it() {
    let mut data = MjData::new(Box::new(model()));
    let flange = data.model().name_to_id(MjtObjBase::mjOBJ_SITE, "flange").unwrap();
    for q in postures(200) {
        at_rest(&mut data, &q, 0.0);
        let expected = *frames(&q).last().unwrap();
        let position = Vector3::from(data.site_xpos()[flange]);
        let error = (position - expected.translation.vector).norm();
        assert!(error < 1e-9, "{error} m at {q:?}");
        let rotation = nalgebra::Matrix3::from_row_slice(&data.site_xmat()[flange]);
        let error = (rotation - expected.rotation.to_rotation_matrix().matrix()).norm();
        assert!(error < 1e-9, "orientation off by {error} at {q:?}");
    }
}

#[test]
fn gravity_pulls_as_the_published_masses_say() {
    let mut data = MjData::new(Box::new(model()));
    let mut generator = Generator::new(8);
    for q in postures(200) {
        let finger_m = generator.uniform(0.0, 0.04);
        at_rest(&mut data, &q, finger_m);
        let frames = frames(&q);
        let hand = frames[7] * UnitQuaternion::from_axis_angle(&Vector3::z_axis(), -FRAC_PI_4);
        // (mass, centre in the base's frame, number of the link that carries it)
        let at = |frame: &Isometry3<f64>, [x, y, z]: [f64; 3]| frame.transform_point(&nalgebra::Point3::new(x, y, z));
        let mut masses: Vec<_> = (0..7).map(|i| (LINKS[i].0, at(&frames[i], LINKS[i].1), i)).collect();
        masses.push((HAND.0, at(&hand, HAND.1), 6));
        for side in [1.0, -1.0] {
            masses.push((FINGER_KG, at(&hand, [FINGER[0], side * (FINGER[1] + finger_m), FINGER[2]]), 6));
        }
        for (joint, frame) in frames[..7].iter().enumerate() {
            let axis = frame.rotation * Vector3::z();
            let origin = frame.translation.vector;
            let carried = masses.iter().filter(|(_, _, link)| *link >= joint);
            let torque: f64 = carried.map(|(m, centre, _)| m * GRAVITY * axis.cross(&(centre.coords - origin)).z).sum();
            let [bias, compensation] = [data.qfrc_bias()[joint], data.qfrc_gravcomp()[joint]];
            assert!((bias - torque).abs() < 1e-9, "joint {}: {bias} Nm, expected {torque} at {q:?}", joint + 1);
            assert!(
                (compensation - torque).abs() < 1e-9,
                "joint {}: compensates {compensation} Nm of {torque}",
                joint + 1
            );
        }
    }
}

#[test]
fn the_masses_add_up() {
    let model = model();
    let total: f64 = model.body_mass().iter().sum();
    let arm: f64 = LINKS.iter().map(|(mass, _)| mass).sum();
    assert!((arm - 16.062).abs() < 1e-3, "the paper's links weigh 16.06 kg, these {arm}");
    let expected = BASE_KG + arm + HAND.0 + 2.0 * FINGER_KG;
    assert!((total - expected).abs() < 1e-9, "{total} kg instead of {expected}");
    for (i, (mass, centre)) in LINKS.iter().enumerate() {
        let body = model.name_to_id(MjtObjBase::mjOBJ_BODY, &format!("link{}", i + 1)).unwrap();
        assert_eq!((model.body_mass()[body], model.body_ipos()[body]), (*mass, *centre), "link {}", i + 1);
    }
}

#[test]
fn limits_and_gains_are_the_makers_in_both_files() {
    let model = model();
    let library = Library::open(&root().join("scenarios"), &root().join("robots")).unwrap();
    let robot = library.find("tabletop_reach").unwrap().robots[0].model.clone();
    let limits = &robot.limits;
    assert_eq!((limits.position_low.as_slice(), limits.position_high.as_slice()), (&LOW[..], &HIGH[..]));
    assert_eq!((limits.velocity.as_slice(), limits.acceleration.as_slice()), (&VELOCITY[..], &ACCELERATION[..]));
    assert_eq!(limits.torque, TORQUE);
    for (i, name) in robot.joints.iter().enumerate() {
        let joint = model.name_to_id(MjtObjBase::mjOBJ_JOINT, name).unwrap();
        let actuator = model.name_to_id(MjtObjBase::mjOBJ_ACTUATOR, name).unwrap();
        assert_eq!(model.jnt_range()[joint], [LOW[i], HIGH[i]], "{name}");
        assert_eq!(model.jnt_actfrcrange()[joint], [-TORQUE[i], TORQUE[i]], "{name}");
        assert_eq!(model.actuator_forcerange()[actuator], [-TORQUE[i], TORQUE[i]], "{name}");
        let (kp, kd) = (robot.servo.kp[i], robot.servo.kd[i]);
        assert_eq!(model.actuator_gainprm()[actuator][0], kp, "{name}");
        assert_eq!(model.actuator_biasprm()[actuator][..3], [0.0, -kp, -kd], "{name}");
    }
}
