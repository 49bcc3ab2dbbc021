//! Signals of how something moves (towards others, to and fro, through openings), and actors that stop for it, against
//! what a cart on a rail must give.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use assay_sim::{CompiledScenario, Simulation};

use crate::common::{Scene, control_step};

const GRAVITY: f64 = 9.81;
const GROUP: &str = "cart = [\"cart\"]\n";

/// The tiny scene with more bodies, and more facts behind its group of the cart.
fn world(bodies: &str, facts: &str) -> CompiledScenario {
    Scene::both("<!--more-->", bodies, GROUP, &format!("{GROUP}{facts}\n")).build().unwrap()
}

fn signal(world: &CompiledScenario, simulation: &Simulation, name: &str) -> f64 {
    let column = world.scenario().signal_names().iter().position(|signal| *signal == name).unwrap();
    simulation.sample()[column]
}

/// A person who walks along the rail towards the cart at 0.5 m/s, and stops 0.1 m before it.
fn person(stops: &str) -> CompiledScenario {
    let facts = format!(
        "person = [\"person\"]\n[[actor]]\nbody = \"person\"\nkind = \"path\"\nwaypoints = [[1, 0], [-3, 0]]\nspeed = 0.5\n\
         {stops}\n[signals.gap]\nkind = \"distance\"\na = \"cart\"\nb = \"person\"\ncutoff = 5\n\
         [signals.approach]\nkind = \"approach_speed\"\na = \"cart\"\nb = \"person\"\nwithin = 0.3\n"
    );
    let body = "<body name='person' mocap='true' pos='1 0 1'><geom size='0.2' contype='0' conaffinity='1'/></body>";
    world(body, &facts)
}

const STOPS: &str = "stops_for = { group = \"cart\", gap_m = 0.1 }";

#[test]
fn a_person_stops_before_what_stands_in_the_way_and_goes_on_when_it_has_left() {
    let world = person(STOPS);
    let mut simulation = world.simulation(0).unwrap();
    let run = |simulation: &mut Simulation, force: f64, steps: u32| {
        (0..steps).for_each(|_| control_step(&world, simulation, &[force]));
        (signal(&world, simulation, "gap"), signal(&world, simulation, "approach"))
    };
    let (gap, approach) = run(&mut simulation, 0.0, 200);
    assert!((0.09..=0.1).contains(&gap), "stands {gap} m before the cart");
    assert!(approach < 1e-6, "the cart stands, yet approaches at {approach} m/s");
    // The cart leaves faster than a person walks: they follow at their own pace, and come no nearer.
    let before = run(&mut simulation, -1.0, 1).0;
    let mut least = before;
    for _ in 0..150 {
        least = least.min(run(&mut simulation, -1.0, 1).0);
    }
    assert!(least > 0.09, "walked to {least} m");
    let x = simulation.qpos()[0];
    assert!(run(&mut simulation, 0.0, 1).0 > 0.5 && x < -1.0, "the cart did not get away: {x} m");
}

#[test]
fn whoever_drives_into_a_person_approached_them() {
    let world = person(STOPS);
    let mut simulation = world.simulation(0).unwrap();
    (0..200).for_each(|_| control_step(&world, &mut simulation, &[0.0]));
    let mut greatest: f64 = 0.0;
    for _ in 0..100 {
        control_step(&world, &mut simulation, &[0.2]);
        let (gap, approach) = (signal(&world, &simulation, "gap"), signal(&world, &simulation, "approach"));
        let speed = simulation.qvel()[0];
        if gap > 0.001 {
            assert!((approach - speed.max(0.0)).abs() < 1e-6, "{approach} m/s, the cart does {speed}");
        }
        greatest = greatest.max(approach);
        if gap <= 0.0 {
            assert!(greatest > 0.05, "{greatest}");
            return;
        }
    }
    panic!("the cart never came to the person");
}

#[test]
fn a_person_who_stops_for_nothing_walks_on() {
    let world = person("");
    let mut simulation = world.simulation(0).unwrap();
    (0..100).for_each(|_| control_step(&world, &mut simulation, &[0.0]));
    assert!(signal(&world, &simulation, "gap") < 0.05 && simulation.qpos()[0] < -0.1, "did not push the cart");
    for (wrong, key) in [("group = \"carts\", gap_m = 0.1", "group"), ("group = \"cart\", gap_m = 0", "gap_m")] {
        let walk = "kind = \"walk\"\nx = [0, 1]\ny = [0, 1]\nspeed = [1, 1]\n\n[success]";
        let facts = format!("[[actor]]\nbody = \"person\"\nstops_for = {{ {wrong} }}\n{walk}");
        let error = Scene::told("[success]", &facts).build().unwrap_err().to_string();
        assert!(error.contains(&format!("actor[0].stops_for.{key}")), "{error}");
    }
}

/// Pushed to and fro with a newton, for two actions each way.
fn shaken(world: &CompiledScenario, simulation: &mut Simulation) {
    for step in 0..40 {
        control_step(world, simulation, &[if step % 4 < 2 { 1.0 } else { -1.0 }]);
    }
}

#[test]
fn shaking_cancels_out_of_the_mean_acceleration_alone() {
    let of = "of = \"body:cart\"\nwindow_s = 0.08\n";
    let facts = format!(
        "[signals.mean]\nkind = \"acceleration\"\n{of}[signals.size]\nkind = \"agitation\"\n{of}\
         [signals.liquid]\nkind = \"apparent_tilt\"\n{of}[signals.told]\nkind = \"action\"\nname = \"force\"\n\
         [signals.turns]\nkind = \"reversals\"\nsignal = \"told\"\nband = 1.5\nwindow_s = 0.4\n"
    );
    let world = world("", &facts);
    let mut simulation = world.simulation(3).unwrap();
    let mass = simulation.draw().parameters[0].1;
    let get = |simulation: &Simulation, name| signal(&world, simulation, name);
    shaken(&world, &mut simulation);
    let near =
        |value: f64, wanted: f64, what: &str| assert!((value - wanted).abs() < 1e-6, "{what}: {value}, not {wanted}");
    near(get(&simulation, "mean"), 0.0, "mean");
    near(get(&simulation, "liquid"), 0.0, "apparent tilt of what is shaken fast");
    near(get(&simulation, "size"), 1.0 / mass, "agitation");
    near(get(&simulation, "told"), -1.0, "action");
    near(get(&simulation, "turns"), 10.0, "turns in 0.4 s");
    (0..5).for_each(|_| control_step(&world, &mut simulation, &[0.5]));
    near(get(&simulation, "mean"), 0.5 / mass, "mean of a steady push");
    near(get(&simulation, "size"), 0.5 / mass, "agitation of a steady push");
    near(get(&simulation, "liquid"), (0.5 / mass / GRAVITY).atan(), "apparent tilt of a steady push");
}

/// A bar on a hinge, with a box at its end: the corner that is farthest from the hinge is fastest.
#[test]
fn greatest_speed_is_that_of_the_fastest_part_of_a_group() {
    let bar = "<body name='bar' pos='0 0 1'><joint name='turn' axis='0 0 1' damping='0'/>\
               <geom name='rod' type='capsule' fromto='0 0 0 0.5 0 0' size='0.02' contype='2' conaffinity='0' mass='1'/>\
               <geom name='end' type='box' pos='0.5 0 0' size='0.1 0.2 0.1' contype='2' conaffinity='0' mass='1'/></body>";
    let of = |name: &str, group: &str| format!("[signals.{name}]\nkind = \"greatest_speed\"\nof = \"{group}\"\n");
    let facts = "bar = [\"bar\"]\nrod = [\"rod\"]\n[[set]]\ntarget = \"joint:turn.qvel\"\nvalue = 2\n".to_owned()
        + &of("whole", "bar")
        + &of("of_rod", "rod")
        + &of("of_cart", "cart");
    let world = world(bar, &facts);
    let mut simulation = world.simulation(0).unwrap();
    (0..20).for_each(|_| control_step(&world, &mut simulation, &[0.0]));
    for (name, arm) in [("whole", 0.6_f64.hypot(0.2)), ("of_rod", 0.5), ("of_cart", 0.0)] {
        let value = signal(&world, &simulation, name);
        assert!((value - 2.0 * arm).abs() < 1e-3, "{name}: {value} m/s, not {}", 2.0 * arm);
    }
}

#[test]
fn openings_are_crossed_in_order_and_forwards() {
    let gates =
        "<site name='one' pos='0.3 0.05 1'/><site name='two' pos='0.6 0 1'/><site name='aside' pos='0.1 0.5 1'/>";
    let crossed = |name: &str, frames: &str| {
        format!(
            "[signals.{name}]\nkind = \"crossed\"\nof = \"body:cart\"\nframes = [{frames}]\nhalf_size = [0.1, 0.1]\n"
        )
    };
    let facts = crossed("ahead", "\"site:one\", \"site:two\"")
        + &crossed("backwards", "\"site:two\", \"site:one\"")
        + &crossed("beside", "\"site:aside\"");
    let world = world(gates, &facts);
    let mut simulation = world.simulation(1).unwrap();
    let force = 0.5 * simulation.draw().parameters[0].1;
    let mut seen = Vec::new();
    for step in 0..400 {
        // Ahead through both, then back over them.
        control_step(&world, &mut simulation, &[if step < 60 { force } else { -force }]);
        let count = |name| signal(&world, &simulation, name);
        let x = simulation.qpos()[0];
        seen.push((x, [count("ahead"), count("backwards"), count("beside")]));
    }
    let farthest = seen.iter().map(|(x, _)| *x).fold(f64::MIN, f64::max);
    assert!(farthest > 0.7 && seen.last().unwrap().0 < 0.0, "went to {farthest}, ended at {:?}", seen.last());
    assert!(seen.iter().all(|(x, [ahead, ..])| *x < 0.59 || *ahead >= 1.0));
    // The last of a list in the wrong order is not crossed on the way back.
    assert_eq!(seen.last().unwrap().1, [2.0, 1.0, 0.0]);
}
