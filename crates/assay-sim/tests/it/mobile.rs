//! The MiR100's model against its published figures, and the base twist against the wheels.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::path::Path;
use std::sync::Arc;

use assay_scenario::{Scalar, Target};
use assay_sim::{CompiledScenario, Simulation};
use mujoco_rs::prelude::*;

use crate::common::built_in;

const WHEEL_RADIUS_M: f64 = 0.0625;
const TRACK_M: f64 = 0.445_208;
/// Data sheet: greatest load.
const PAYLOAD_KG: f64 = 100.0;
/// Data sheet: greatest speed ahead.
const FORWARD_M_S: f64 = 1.5;
/// Declared in robot.toml, a project limit.
const BRAKING_M_S2: f64 = 1.5;

/// Holds an action for `steps` control steps and hands every physics step to `look`.
fn drive(simulation: &mut Simulation, action: [f64; 2], steps: u32, mut look: impl FnMut(&Simulation)) {
    for _ in 0..steps {
        simulation.act(&action);
        for _ in 0..25 {
            simulation.step().unwrap();
            look(simulation);
        }
    }
}

/// Speed ahead and turning speed.
fn twist(simulation: &Simulation) -> (f64, f64) {
    let (q, v) = (simulation.qpos(), simulation.qvel());
    let yaw = 2.0 * q[6].atan2(q[3]);
    (v[0] * yaw.cos() + v[1] * yaw.sin(), v[5])
}

#[test]
fn the_base_weighs_what_it_should() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../robots/mir100/mir100.xml");
    let model = MjModel::from_xml(file).unwrap();
    let mass: f64 = model.body_mass().iter().sum();
    assert!((mass - 69.24).abs() < 1e-5, "{mass} kg; the data sheet says about 70");
    let hull = model.name_to_id(MjtObjBase::mjOBJ_GEOM, "hull").unwrap();
    let [length, width, _] = model.geom_size()[hull].map(|half| 2.0 * half);
    assert!((length - 0.89).abs() < 1e-9 && (width - 0.58).abs() < 1e-9, "{length} x {width} m");
}

#[test]
fn the_base_follows_its_twist_and_odometry_tells_where_it_is() {
    let mut simulation = built_in("warehouse_aisle").simulation(1).unwrap();
    let (mut x, mut y, mut yaw) = (0.0_f64, 0.0_f64, 0.0_f64);
    drive(&mut simulation, [0.8, 0.5], 40, |simulation| {
        let wheels = &simulation.qvel()[6..8];
        let (ahead, turn) = ((wheels[0] + wheels[1]) / 2.0, (wheels[1] - wheels[0]) / TRACK_M);
        yaw += turn * WHEEL_RADIUS_M * 0.002;
        x += ahead * WHEEL_RADIUS_M * 0.002 * yaw.cos();
        y += ahead * WHEEL_RADIUS_M * 0.002 * yaw.sin();
    });
    let (ahead, turn) = twist(&simulation);
    assert!((ahead - 0.8).abs() < 0.02 && (turn - 0.5).abs() < 0.02, "{ahead} m/s, {turn} rad/s");
    let q = simulation.qpos();
    let real_yaw = 2.0 * q[6].atan2(q[3]);
    assert!((q[0] - x).hypot(q[1] - y) < 0.02, "odometry {x} {y}, real {} {}", q[0], q[1]);
    assert!((real_yaw - yaw).abs() < 0.03, "odometry {yaw}, real {real_yaw}");
}

#[test]
fn no_action_drives_the_base_beyond_the_makers_limits() {
    let mut simulation = built_in("crossing_pedestrians").simulation(1).unwrap();
    let mut before: Option<f64> = None;
    let mut look = |simulation: &Simulation| {
        let wheels = &simulation.qvel()[6..8];
        let ahead = (wheels[0] + wheels[1]) / 2.0 * WHEEL_RADIUS_M;
        assert!((-0.32..1.53).contains(&ahead), "{ahead} m/s");
        // The servos lag behind the ramp and make up for it: over a tenth of a second the mean counts.
        before = Some(before.map_or(ahead, |before| before + (ahead - before) / 50.0));
        let change = (ahead - before.unwrap()) / 0.1;
        assert!(change.abs() < 2.3, "{change} m/s2");
        if ahead > 0.1 {
            assert!(change > -1.15 * BRAKING_M_S2, "brakes with {change} m/s2");
        }
    };
    for action in [[9.0, 0.0], [-9.0, 0.0], [0.0, 9.0], [0.0, -9.0]] {
        let clipped = simulation.act(&action);
        assert!(clipped);
        drive(&mut simulation, action, 26, &mut look);
    }
    assert!((twist(&simulation).1 + 1.5).abs() < 0.1, "turns at its limit: {}", twist(&simulation).1);
}

/// Runs at full speed with a load and stops: how fast it ran, how far it came from the order to stop on, how far it
/// tilted.
fn full_stop(load_kg: f64) -> (f64, f64, f64) {
    let mut scenario = (**built_in("crossing_pedestrians").scenario()).clone();
    scenario.sets.push((Target::BodyMass("base/payload".to_owned()), Scalar::Number(load_kg)));
    let mut simulation = CompiledScenario::build(Arc::new(scenario)).unwrap().simulation(1).unwrap();
    drive(&mut simulation, [FORWARD_M_S, 0.0], 24, |_| ());
    let start = [simulation.qpos()[0], simulation.qpos()[1]];
    let (speed, _) = twist(&simulation);
    let mut tilt: f64 = 0.0;
    drive(&mut simulation, [0.0, 0.0], 40, |simulation| {
        let q = simulation.qpos();
        tilt = tilt.max(2.0 * q[4].hypot(q[5]).asin());
    });
    assert!(twist(&simulation).0.abs() < 0.01, "it still moves");
    let end = simulation.qpos();
    (speed, (end[0] - start[0]).hypot(end[1] - start[1]), tilt)
}

#[test]
fn it_stops_within_what_is_declared_empty_and_loaded() {
    let mut ways = Vec::new();
    for load in [1e-6, PAYLOAD_KG / 2.0, PAYLOAD_KG] {
        let (speed, way, tilt) = full_stop(load);
        assert!((speed - FORWARD_M_S).abs() < 0.03, "{load} kg: {speed} m/s");
        let braking = speed * speed / (2.0 * BRAKING_M_S2);
        // Not shorter, and not longer than the 0.1 s of reaction that the scenarios' rules add.
        assert!((0.97 * braking..braking + 0.1 * speed).contains(&way), "{load} kg: {way} m, declared {braking} m");
        assert!(tilt < 0.02, "{load} kg: it tilts by {tilt} rad");
        ways.push(way);
    }
    assert!(ways[2] > ways[0] && ways[2] - ways[0] < 0.05, "a load makes the way a little longer: {ways:?}");
}

#[test]
fn the_scanners_see_the_racks() {
    let world = built_in("warehouse_aisle");
    let mut simulation = world.simulation(1).unwrap();
    let mut bytes = Vec::new();
    simulation.observe(&mut bytes).unwrap();
    let numbers: Vec<f64> = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let spec = simulation.observation_spec();
    let start: u32 = spec.iter().take_while(|s| s.name != "scan_front").map(|s| s.shape.iter().product::<u32>()).sum();
    let scan = &numbers[start as usize..start as usize + 91];
    // From -90 degrees in steps of 3: ray 60 looks to the left, where the rack's foot is 1.85 m from the middle.
    assert!((scan[60] - (1.85 - 0.2358)).abs() < 1e-3, "left: {}", scan[60]);
    assert!((scan[0] - (1.85 + 0.2358)).abs() < 1e-3, "right: {}", scan[0]);
    assert!(scan.iter().all(|d| (0.05..=29.0).contains(d)));
}
