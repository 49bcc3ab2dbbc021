//! What a scenario does to a policy beside the task: pushes and noise; and the signals that tell of motion.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use crate::common::{Scene, built_in, control_step, observed};

const SUCCESS: &str = "[success]";

/// The tiny scene with signals in front of `[success]`.
fn with_signals(signals: &str) -> Scene {
    Scene::told(SUCCESS, &format!("{signals}\n{SUCCESS}"))
}

#[test]
fn a_push_gives_the_momentum_that_was_drawn() {
    let push =
        "[[disturbance]]\nkind = \"push\"\nbody = \"cart\"\nat_s = [0.2, 0.3]\nduration_s = 0.1\nforce_n = [1, 2]";
    let observation = "[[observation]]\nname = \"speed\"\nkind = \"joint_velocity\"\njoints = [\"slide\"]";
    let world = Scene::told("[signals.height]", &format!("{push}\n{observation}\n[signals.height]")).build().unwrap();
    for seed in 0..5 {
        let mut simulation = world.simulation(seed).unwrap();
        let draw = |name: &str| simulation.draw().parameters.iter().find(|(key, _)| key == name).unwrap().1;
        let (at, force, heading) = (draw("push_0.at"), draw("push_0.force"), draw("push_0.heading"));
        assert!((0.2..0.3).contains(&at) && (1.0..2.0).contains(&force), "{at} s, {force} N");
        // The draw replaces the mass that the scene gives.
        let speed = force * heading.cos() * 0.1 / draw("mass");
        for step in 0..25 {
            if f64::from(step) * 0.02 < at {
                assert_eq!(observed(&mut simulation, "speed"), [0.0], "pushed before {at} s");
            }
            control_step(&world, &mut simulation, &[0.0]);
        }
        let measured = observed(&mut simulation, "speed")[0];
        // Begin and end are rounded to physics steps.
        assert!((measured - speed).abs() <= 0.02 * speed.abs() + 1e-9, "{measured} m/s instead of {speed}");
    }
}

#[test]
fn noise_is_on_what_is_seen_and_not_in_the_world() {
    let noisy = Scene::told("joints = [\"slide\"]", "joints = [\"slide\"]\nnoise = 0.01").build().unwrap();
    let clean = Scene::told("joints = [\"slide\"]", "joints = [\"slide\"]\nnoise = 0").build().unwrap();
    let run = |world: &assay_sim::CompiledScenario| {
        let mut simulation = world.simulation(3).unwrap();
        let seen: Vec<f64> = (0..400)
            .map(|_| {
                let seen = observed(&mut simulation, "slide")[0];
                control_step(world, &mut simulation, &[0.1]);
                seen
            })
            .collect();
        (seen, simulation.integration_state().to_vec())
    };
    let ((with, state), (without, same_state)) = (run(&noisy), run(&clean));
    assert_eq!(state, same_state, "noise changed the world");
    assert_eq!((&with, &state), (&run(&noisy).0, &run(&noisy).1), "noise does not repeat");
    let noise: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
    let variance = noise.iter().map(|x| x * x).sum::<f64>() / 400.0;
    assert!((variance.sqrt() - 0.01).abs() < 0.0015, "standard deviation {}", variance.sqrt());
}

#[test]
fn motion_is_measured() {
    let signals = "[signals.acceleration]\nkind = \"acceleration\"\nof = \"body:cart\"\nwindow_s = 0.02\n\
         [signals.displacement]\nkind = \"displacement\"\nof = \"body:cart\"\n\
         [signals.relative]\nkind = \"relative_speed\"\nfrom = \"site:mount\"\nto = \"geom:cart\"\n\
         [signals.within]\nkind = \"inside\"\nof = [\"body:cart\", \"site:mount\"]\nwithin = \"cart\"";
    let world = with_signals(signals).build().unwrap();
    let mut simulation = world.simulation(1).unwrap();
    let mass = simulation.draw().parameters[0].1;
    let column = |name: &str| world.scenario().signal_names().iter().position(|n| *n == name).unwrap();
    let at_rest = simulation.sample().to_vec();
    assert_eq!([at_rest[column("acceleration")], at_rest[column("displacement")]], [0.0, 0.0]);
    (0..50).for_each(|_| control_step(&world, &mut simulation, &[1.0]));
    // The sample belongs to the start of the last step.
    let t = simulation.sample()[0];
    let value = |name: &str| simulation.sample()[column(name)];
    assert!((value("acceleration") - 1.0 / mass).abs() < 1e-6, "{} m/s2", value("acceleration"));
    assert!((value("relative") - t / mass).abs() < 1e-6, "{} m/s", value("relative"));
    assert!((value("displacement") - t * t / mass / 2.0).abs() < 2e-3, "{} m", value("displacement"));
    assert_eq!(value("within"), 1.0, "the cart holds its own origin and not the mount");
}

#[test]
fn a_box_that_is_none_is_refused() {
    let signal = "[signals.within]\nkind = \"inside\"\nof = [\"body:cart\"]\nwithin = \"ball\"";
    let error = with_signals(signal).build().unwrap_err().to_string();
    assert!(error.contains("signals.within") && error.contains("no geom \"ball\""), "{error}");
}

#[test]
fn free_bodies_start_where_they_were_drawn() {
    let world = built_in("stack_blocks");
    for seed in 0..5 {
        let mut simulation = world.simulation(seed).unwrap();
        for block in ["red", "blue", "green"] {
            let draw = |name: &str| {
                let name = format!("{block}.{name}");
                simulation.draw().parameters.iter().find(|(key, _)| *key == name).unwrap().1
            };
            let (x, y, yaw) = (draw("x"), draw("y"), draw("yaw"));
            let position = observed(&mut simulation, &format!("{block}_position"));
            let orientation = observed(&mut simulation, &format!("{block}_orientation"));
            assert_eq!((position[0], position[1]), (x, y), "{block} in world {seed}");
            assert!((2.0 * orientation[3].atan2(orientation[0]) - yaw).abs() < 1e-9, "{block} in world {seed}");
        }
    }
}
