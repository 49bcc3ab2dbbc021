//! The Crazyflie's model against its published figures, and the thrust mode.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::path::Path;

use mujoco_rs::prelude::*;

use crate::common::built_in;

const MASS_KG: f64 = 0.027;
const GRAVITY: f64 = 9.81;
const INERTIA: [f64; 3] = [16.571_710e-6, 16.655_602e-6, 29.261_652e-6];

fn alone() -> MjData<Box<MjModel>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../robots/crazyflie/crazyflie.xml");
    MjData::new(Box::new(MjModel::from_xml(file).unwrap()))
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
    let most: f64 = model.actuator_ctrlrange().iter().map(|range| range[1]).sum();
    let ratio = most / (MASS_KG * GRAVITY);
    assert!((2.3..2.5).contains(&ratio), "thrust to weight {ratio}");
}

#[test]
fn it_falls_freely_without_thrust_and_hovers_on_its_weight() {
    let mut falling = alone();
    let start = falling.qpos()[2];
    (0..250).for_each(|_| falling.step());
    let expected = 0.5 * GRAVITY * 0.5 * 0.5;
    assert!((start - falling.qpos()[2] - expected).abs() < 0.01, "fell {} m", start - falling.qpos()[2]);
    let mut hovering = alone();
    let share = MASS_KG * GRAVITY / 4.0;
    hovering.ctrl_mut().fill(share);
    hovering.act_mut().fill(share);
    (0..500).for_each(|_| hovering.step());
    let q = hovering.qpos();
    assert!((q[2] - start).abs() < 1e-3 && (q[3].abs() - 1.0).abs() < 1e-6, "{q:?}");
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
