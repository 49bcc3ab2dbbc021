//! The controller and the physics through a simulation, as an episode drives them.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use crate::common::{Scene, built_in, control_step, observed};

#[test]
fn the_tool_moves_as_it_is_told() {
    let world = built_in("tabletop_reach");
    let cases =
        [[0.1, 0.0, 0.0], [-0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, -0.1, 0.0], [0.0, 0.0, 0.1], [0.06, -0.06, 0.06]];
    for velocity in cases {
        let mut simulation = world.simulation(1).unwrap();
        let orientation = observed(&mut simulation, "tcp_orientation");
        let mut action = vec![0.0; 7];
        action[..3].copy_from_slice(&velocity);
        for step in 0..50 {
            control_step(&world, &mut simulation, &action);
            if step >= 15 {
                let tool = observed(&mut simulation, "tcp_velocity");
                let error = (0..3).map(|i| (tool[i] - velocity[i]).powi(2)).sum::<f64>().sqrt();
                assert!(error < 0.005, "told {velocity:?}, moves {tool:?} in step {step}");
            }
        }
        let turned = observed(&mut simulation, "tcp_orientation");
        let cosine: f64 = orientation.iter().zip(&turned).map(|(a, b)| a * b).sum();
        assert!(cosine.abs() > 0.9999, "told {velocity:?}, turned from {orientation:?} to {turned:?}");
    }
}

#[test]
fn the_tool_turns_as_it_is_told() {
    let world = built_in("tabletop_reach");
    let mut simulation = world.simulation(1).unwrap();
    let (from, start) = (observed(&mut simulation, "tcp_orientation"), observed(&mut simulation, "tcp_position"));
    (0..50).for_each(|_| control_step(&world, &mut simulation, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0]));
    let (to, end) = (observed(&mut simulation, "tcp_orientation"), observed(&mut simulation, "tcp_position"));
    let cosine: f64 = from.iter().zip(&to).map(|(a, b)| a * b).sum();
    let angle = 2.0 * cosine.abs().min(1.0).acos();
    assert!((angle - 0.5).abs() < 0.03, "turned {angle} rad of 0.5 in a second");
    let moved = (0..3).map(|i| (end[i] - start[i]).powi(2)).sum::<f64>().sqrt();
    assert!(moved < 0.005, "the tool's point moved by {moved} m");
}

#[test]
fn an_arm_told_to_rest_rests() {
    let world = built_in("tabletop_reach");
    let mut simulation = world.simulation(2).unwrap();
    let before = observed(&mut simulation, "joint_position");
    (0..100).for_each(|_| control_step(&world, &mut simulation, &[0.0; 7]));
    let after = observed(&mut simulation, "joint_position");
    let moved = before.iter().zip(&after).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(moved < 1e-3, "a joint moved by {moved} rad");
}

#[test]
fn the_gripper_opens_and_closes() {
    let world = built_in("tabletop_reach");
    let mut simulation = world.simulation(1).unwrap();
    let mut width = |opening: f64| {
        let action = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, opening];
        (0..50).for_each(|_| control_step(&world, &mut simulation, &action));
        observed(&mut simulation, "gripper_width")[0]
    };
    for (opening, expected) in [(-1.0, 0.0), (1.0, 0.08), (0.0, 0.04), (-1.0, 0.0)] {
        let width = width(opening);
        assert!((width - expected).abs() < 0.002, "told {opening}: {width} m, not {expected}");
    }
}

/// Told to open and to close at once, by turns and at any rate.
#[test]
fn the_fingers_travel_no_faster_than_their_data_sheet_says() {
    const SPEED: f64 = 0.05;
    let world = built_in("tabletop_reach");
    let mut simulation = world.simulation(1).unwrap();
    let finger = simulation.qpos().len() - 2;
    for period in [60, 7, 1] {
        for step in 0..120 {
            let opening = if step / period % 2 == 0 { -1.0 } else { 1.0 };
            let before = simulation.qpos()[finger];
            control_step(&world, &mut simulation, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, opening]);
            let speed = (simulation.qpos()[finger] - before).abs() * world.scenario().world.control_hz;
            assert!(speed < 1.05 * SPEED, "turned every {period} actions: {speed} m/s");
        }
    }
}

#[test]
fn what_is_clipped_is_told_and_used() {
    let world = built_in("cartpole_keepin");
    let run = |force: f64| {
        let mut simulation = world.simulation(3).unwrap();
        let clipped = simulation.act(&[force]);
        (0..50).for_each(|_| simulation.step().unwrap());
        (clipped, simulation.action().to_vec(), simulation.sample().to_vec())
    };
    let (clipped, action, wild) = run(1e300);
    assert!(clipped && action == [12.0]);
    let (clipped, _, full) = run(12.0);
    assert!(!clipped);
    assert_eq!(wild, full);
}

/// A ball falls for 0.5 s; its height is a signal.
#[test]
fn a_ball_falls_as_galileo_says() {
    const GRAVITY: f64 = 9.81;
    const START_M: f64 = 5.0;
    let ball = "<body name='ball' pos='0 0 5'><freejoint/><geom name='ball' size='0.05' mass='0.3'/></body>";
    let scene = Scene::with("<!--more-->", ball);
    let world = scene.build().unwrap();
    let height = world.scenario().signal_names().iter().position(|name| *name == "height").unwrap();
    let dt = world.scenario().world.timestep_s;
    // Without the ball's own signal there is nothing to see.
    let mut simulation = world.simulation(1).unwrap();
    simulation.act(&[0.0]);
    for step in 0..250_u32 {
        simulation.step().unwrap();
        let t = f64::from(step) * dt;
        let (time, z) = (simulation.sample()[0], simulation.sample()[height]);
        assert!((time - t).abs() < 1e-9, "a sample belongs to the start of its step");
        // The integrator's own error is g t dt / 2.
        let fall = START_M - 0.5 * GRAVITY * t * t;
        assert!((z - fall).abs() <= 0.5 * GRAVITY * t * dt + 1e-9, "{z} m at {t} s, expected {fall}");
        let exact = START_M - 0.5 * GRAVITY * dt * dt * f64::from(step) * f64::from(step + 1);
        assert!((z - exact).abs() < 1e-9, "{z} m at {t} s, expected {exact}");
    }
}

#[test]
fn an_unstable_world_says_so_and_does_not_start_again() {
    // A motor so strong that it throws the slide to infinity within seconds.
    let scene = Scene::with("gear='1'", "gear='2e9'");
    let world = scene.build().unwrap();
    let mut simulation = world.simulation(1).unwrap();
    simulation.act(&[1.0]);
    let mut steps = 0;
    let error = loop {
        steps += 1;
        assert!(steps < 5000, "it never became unstable");
        if let Err(error) = simulation.step() {
            break error;
        }
    };
    assert!(error.to_string().contains("MuJoCo warned of BADQ"), "{error}");
    assert!(simulation.time_s() > 0.0, "MuJoCo started the episode again");
    assert_ne!(simulation.qpos(), world.simulation(1).unwrap().qpos(), "MuJoCo started the episode again");
    assert!(simulation.step().is_err(), "once unstable, always unstable");
}
