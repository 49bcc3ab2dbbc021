//! Actors: they move as drawn, whatever the policy does, and what is measured of them is right.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use crate::common::{Scene, built_in};

const ACTOR: &str = "<body name='person' mocap='true' pos='0 0 0.9'><geom size='0.2'/></body><!--more-->";

/// The tiny scene with a person who walks 2 m along x at 0.5 m/s, from 1 s on.
fn scene() -> Scene {
    let facts = "[[actor]]\nbody = \"person\"\nkind = \"path\"\nwaypoints = [[3, 1], [\"3 + 2 * mass / mass\", 1]]\n\
                 speed = 0.5\nstart_s = 1\n\n\
                 [signals.way]\nkind = \"position\"\nof = \"body:person\"\naxis = \"x\"\n\
                 [signals.speed]\nkind = \"relative_speed\"\nfrom = \"site:mount\"\nto = \"body:person\"\n\
                 [signals.growth]\nkind = \"rate\"\nsignal = \"way\"\n\
                 [signals.early]\nkind = \"exposure\"\nsignal = \"way\"\nbelow = 3.5\n\
                 [signals.fence]\nkind = \"geofence\"\nof = \"body:person\"\nlow = [0, 0, 0]\nhigh = [4, 9, 9]\n\
                 [signals.passed]\nkind = \"visited\"\nof = \"body:person\"\nframes = [\"site:half\", \"site:mount\"]\nradius = 0.1\n\
                 [success]";
    Scene::both("<!--more-->", &format!("{ACTOR}<site name='half' pos='4 1 0.9'/>"), "[success]", facts)
}

#[test]
fn an_actor_walks_its_path_and_signals_tell_so() {
    let world = scene().build().unwrap();
    let names: Vec<String> = world.scenario().signal_names().into_iter().map(str::to_owned).collect();
    let mut simulation = world.simulation(0).unwrap();
    let column = |name: &str| names.iter().position(|n| n == name).unwrap();
    for step in 0..=300 {
        simulation.act(&[0.0]);
        (0..10).for_each(|_| simulation.step().unwrap());
        let sample = simulation.sample().to_vec();
        let get = |name: &str| sample[column(name)];
        let at = 3.0 + 0.5 * (get("time") - 1.0).clamp(0.0, 4.0);
        let near = |name: &str, wanted: f64| {
            assert!((get(name) - wanted).abs() < 1e-6, "{step}: {name} is {}, not {wanted}", get(name));
        };
        near("way", at);
        let moving = if get("time") > 1.001 && get("time") <= 5.0 { 0.5 } else { 0.0 };
        near("speed", moving);
        near("growth", moving);
        // The last step that counts is the one that ends before 3.5 m.
        assert!((get("early") - get("time").min(2.0)).abs() < 0.003, "{step}: early is {}", get("early"));
        near("fence", (4.0 - at).min(0.9));
        near("passed", if at >= 3.9 { 1.0 } else { 0.0 });
    }
}

#[test]
fn actors_are_part_of_the_hash_and_of_nothing_that_a_policy_does() {
    let world = built_in("crossing_pedestrians");
    let run = |seed, action: [f64; 2]| {
        let mut simulation = world.simulation(seed).unwrap();
        let inputs = simulation.input_names();
        let mut hash = simulation.start_hash();
        for _ in 0..40 {
            simulation.act(&action);
            (0..25).for_each(|_| simulation.step().unwrap());
            let action = simulation.action().to_vec();
            hash.step(simulation.integration_state(), &action);
        }
        let mut values = vec![0.0; inputs.len()];
        simulation.read_inputs(&mut values);
        let mocap = inputs.iter().zip(values).filter(|(name, _)| name.starts_with("mocap")).map(|(_, v)| v);
        (hash.digest().to_string(), mocap.collect::<Vec<f64>>())
    };
    let (hash, places) = run(5, [0.5, 0.0]);
    assert_eq!((hash.clone(), places.clone()), run(5, [0.5, 0.0]));
    let (other_action, same_places) = run(5, [0.0, 0.3]);
    assert_ne!(hash, other_action);
    assert_eq!(places, same_places);
    let (other_seed, other_places) = run(6, [0.5, 0.0]);
    assert!(hash != other_seed && places != other_places);
}

#[test]
fn an_actor_must_be_a_mocap_body() {
    let facts = "[[actor]]\nbody = \"cart\"\nkind = \"walk\"\nx = [0, 1]\ny = [0, 1]\nspeed = [0.5, 1]\n\n[success]";
    let error = Scene::both("<!--more-->", "", "[success]", facts).build().unwrap_err().to_string();
    assert!(error.contains("actor[0].body") && error.contains("mocap=\"true\""), "{error}");
}
