//! The Crazyflie's model against its published figures, and the thrust mode.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::path::Path;

use mujoco_rs::prelude::*;

use crate::common::built_in;

const MASS_KG: f64 = 0.027;
const GRAVITY: f64 = 9.81;
const INERTIA: [f64; 3] = [16.571_710e-6, 16.655_602e-6, 29.261_652e-6];

/// Förster 2015: thrust of a rotor in N as a polynomial of the motor command, and its greatest command.
const THRUST_OF_COMMAND: [f64; 3] = [2.130_295e-11, 1.032_633e-6, 5.484_560e-4];
const MOST_COMMAND: f64 = 65_535.0;
/// Förster 2015: drag force per speed and sum of the rotors' speeds, along x, y, z of the body, kg/rad.
const DRAG: [f64; 3] = [9.1785e-7, 9.1785e-7, 10.311e-7];
/// gsilano/CrazyS: thrust per squared rotor speed, N s2/rad2.
const THRUST_OF_SPEED: f64 = 1.28192e-8;

/// The published drag in hover, N s/m.
fn drag() -> [f64; 3] {
    let rotor = (MASS_KG * GRAVITY / 4.0 / THRUST_OF_SPEED).sqrt();
    DRAG.map(|k| 4.0 * k * rotor)
}

/// Hovering upright in air.
fn hovering() -> MjData<Box<MjModel>> {
    let mut data = alone();
    data.ctrl_mut()[..4].fill(MASS_KG * GRAVITY / 4.0);
    data.act_mut().fill(MASS_KG * GRAVITY / 4.0);
    data
}

fn alone() -> MjData<Box<MjModel>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../robots/crazyflie/crazyflie.xml");
    let mut model = MjModel::from_xml(file).unwrap();
    // The air of the scenes, which must add nothing to the published drag.
    model.opt_mut().density = 1.2;
    model.opt_mut().viscosity = 1.8e-5;
    MjData::new(Box::new(model))
}

#[test]
fn figures_are_the_published_ones() {
    let data = alone();
    let model = data.model();
    assert!((model.body_mass()[1] - MASS_KG).abs() < 1e-12);
    let inertia = model.body_inertia()[1];
    assert!(inertia.iter().zip(INERTIA).all(|(a, b)| (a - b).abs() < 1e-15), "{inertia:?}");
    for rotor in ["m1", "m2", "m3", "m4"] {
        let site = model.name_to_id(MjtObjBase::mjOBJ_SITE, rotor).unwrap();
        let [x, y, _] = model.site_pos()[site];
        assert!((x.hypot(y) - 0.046).abs() < 1e-9, "{rotor} at {x}, {y}");
    }
    let [square, linear, constant] = THRUST_OF_COMMAND;
    let published = (square * MOST_COMMAND + linear) * MOST_COMMAND + constant;
    let rotors = &model.actuator_ctrlrange()[..4];
    assert!(rotors.iter().all(|range| (range[1] - published).abs() < 5e-5), "{rotors:?}, published {published} N");
    let ratio = 4.0 * published / (MASS_KG * GRAVITY);
    assert!((2.3..2.5).contains(&ratio), "thrust to weight {ratio}");
}

#[test]
fn it_falls_through_the_air_without_thrust_and_hovers_on_its_weight() {
    let mut falling = alone();
    let start = falling.qpos()[2];
    (0..250).for_each(|_| falling.step());
    // m dv/dt = m g - K v, from rest.
    let lag = MASS_KG / drag()[2];
    let expected = GRAVITY * lag * (0.5 - lag * (1.0 - (-0.5 / lag).exp()));
    assert!((start - falling.qpos()[2] - expected).abs() < 0.006, "fell {} m", start - falling.qpos()[2]);
    let mut hovering = hovering();
    (0..500).for_each(|_| hovering.step());
    let q = hovering.qpos();
    assert!((q[2] - start).abs() < 1e-3 && (q[3].abs() - 1.0).abs() < 1e-6, "{q:?}");
}

#[test]
fn the_air_holds_it_back_as_measured() {
    let mut data = hovering();
    for (axis, drag) in drag().into_iter().enumerate() {
        for speed in [-2.0, 0.5, 1.0, 3.0] {
            data.qvel_mut().fill(0.0);
            data.qvel_mut()[axis] = speed;
            data.forward();
            let force = MASS_KG * data.qacc()[axis];
            assert!((force / (-drag * speed) - 1.0).abs() < 0.005, "axis {axis} at {speed} m/s: {force} N");
        }
    }
}

#[test]
fn it_glides_to_rest_as_slowly_as_the_drag_says() {
    let mut data = hovering();
    data.qvel_mut()[0] = 1.0;
    let steps = 500;
    (0..steps).for_each(|_| data.step());
    let time = f64::from(steps) * data.model().opt().timestep;
    let expected = (-drag()[0] / MASS_KG * time).exp();
    assert!((data.qvel()[0] - expected).abs() < 0.005, "{} m/s after {time} s, not {expected}", data.qvel()[0]);
}

#[test]
fn body_rates_are_followed_in_every_axis() {
    let world = built_in("quadrotor_gates");
    for axis in 0..3 {
        for sign in [-1.0, 1.0] {
            let mut simulation = world.simulation(3).unwrap();
            // Off the ground first.
            for step in 0..60 {
                let mut action = [0.34, 0.0, 0.0, 0.0];
                if step >= 35 {
                    action[1 + axis] = sign;
                }
                simulation.act(&action);
                (0..10).for_each(|_| simulation.step().unwrap());
            }
            let rates = &simulation.qvel()[3..6];
            for (i, rate) in rates.iter().enumerate() {
                let wanted = if i == axis { sign } else { 0.0 };
                assert!((rate - wanted).abs() < 0.15, "axis {axis}, {sign}: rates {rates:?}");
            }
        }
    }
}
