//! Every control mode of an arm does what its name says.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::sync::Arc;

use assay_scenario::{ActionSpec, Mode};
use assay_sim::CompiledScenario;

use crate::common::{built_in, control_step, observed};

/// `tabletop_reach` with another control mode and as many numbers in an action as that needs.
fn tabletop(mode: Mode, numbers: usize, latency_steps: u32) -> CompiledScenario {
    let mut scenario = (**built_in("tabletop_reach").scenario()).clone();
    let spec = |i| ActionSpec { name: format!("a{i}"), low: -90.0, high: 90.0, unit: "1".to_owned() };
    scenario.control.mode = mode;
    scenario.control.action = (0..numbers).map(spec).collect();
    scenario.control.action_latency_steps = latency_steps;
    CompiledScenario::build(Arc::new(scenario)).unwrap()
}

fn most(differences: impl Iterator<Item = f64>) -> f64 {
    differences.map(f64::abs).fold(0.0, f64::max)
}

#[test]
fn joint_positions_are_reached_without_overshoot() {
    let world = tabletop(Mode::JointPosition, 8, 0);
    let mut simulation = world.simulation(1).unwrap();
    let start = observed(&mut simulation, "joint_position");
    let offsets = [0.4, -0.3, 0.2, 0.3, -0.4, 0.3, 0.5];
    let target: Vec<f64> = start.iter().zip(offsets).map(|(q, offset)| q + offset).collect();
    let action: Vec<f64> = target.iter().copied().chain([1.0]).collect();
    let mut beyond: f64 = 0.0;
    for _ in 0..100 {
        control_step(&world, &mut simulation, &action);
        let now = observed(&mut simulation, "joint_position");
        let past = |i: usize| (now[i] - target[i]) * offsets[i].signum();
        beyond = beyond.max((0..7).map(past).fold(0.0, f64::max));
    }
    let end = observed(&mut simulation, "joint_position");
    let error = most(end.iter().zip(&target).map(|(a, b)| a - b));
    assert!(error < 2e-3, "{error} rad away from the target");
    assert!(beyond < 0.01, "{beyond} rad beyond the target");
    assert!((observed(&mut simulation, "gripper_width")[0] - 0.08).abs() < 2e-3);
}

#[test]
fn joint_velocities_are_followed() {
    let world = tabletop(Mode::JointVelocity, 8, 0);
    let mut simulation = world.simulation(1).unwrap();
    let wanted = [0.2, -0.1, 0.1, 0.2, 0.1, -0.2, 0.3];
    let action: Vec<f64> = wanted.iter().copied().chain([0.0]).collect();
    (0..40).for_each(|_| control_step(&world, &mut simulation, &action));
    let error = most(observed(&mut simulation, "joint_velocity").iter().zip(wanted).map(|(a, b)| a - b));
    assert!(error < 0.01, "{error} rad/s off");
}

#[test]
fn a_torque_turns_its_joint_and_none_holds_the_arm_against_gravity() {
    let world = tabletop(Mode::JointTorque, 8, 0);
    let mut simulation = world.simulation(1).unwrap();
    let start = observed(&mut simulation, "joint_position");
    (0..50).for_each(|_| control_step(&world, &mut simulation, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]));
    let drift = most(observed(&mut simulation, "joint_position").iter().zip(&start).map(|(a, b)| a - b));
    assert!(drift < 0.1, "without torque a joint moved by {drift} rad in a second");
    (0..10).for_each(|_| control_step(&world, &mut simulation, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]));
    let velocity = observed(&mut simulation, "joint_velocity");
    assert!(velocity[6] > 0.5, "1 Nm for 0.2 s turns the last joint at {} rad/s", velocity[6]);
    // The servos' range of angles is no range of torques.
    simulation.act(&[60.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    simulation.step().unwrap();
    let ratio = world.scenario().signal_names().iter().position(|name| *name == "joint_torque_ratio").unwrap();
    assert!((simulation.sample()[ratio] - 60.0 / 87.0).abs() < 0.05, "{}", simulation.sample()[ratio]);
}

#[test]
fn the_tool_goes_to_its_pose() {
    let world = tabletop(Mode::EePose, 8, 0);
    let mut simulation = world.simulation(1).unwrap();
    let (position, orientation) =
        (observed(&mut simulation, "tcp_position"), observed(&mut simulation, "tcp_orientation"));
    let target = [position[0] + 0.05, position[1] + 0.10, position[2] + 0.05];
    // A quaternion of another length and the other sign means the same.
    let turn = orientation.iter().map(|x| -2.0 * x);
    let action: Vec<f64> = target.iter().copied().chain(turn).chain([-1.0]).collect();
    (0..150).for_each(|_| control_step(&world, &mut simulation, &action));
    let reached = observed(&mut simulation, "tcp_position");
    let error = most(reached.iter().zip(target).map(|(a, b)| a - b));
    assert!(error < 2e-3, "{error} m away");
    let after = observed(&mut simulation, "tcp_orientation");
    let cosine: f64 = after.iter().zip(&orientation).map(|(a, b)| a * b).sum();
    assert!(cosine.abs() > 0.99999, "turned to {after:?}");
    assert!(observed(&mut simulation, "gripper_width")[0] < 2e-3);
}

#[test]
fn a_late_action_moves_nothing_before_its_time() {
    let world = tabletop(Mode::JointVelocity, 8, 5);
    let mut simulation = world.simulation(1).unwrap();
    let action = [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for step in 0..10 {
        let speed = observed(&mut simulation, "joint_velocity")[0];
        assert_eq!(speed.abs() > 1e-3, step > 5, "step {step}: {speed} rad/s");
        control_step(&world, &mut simulation, &action);
    }
}
