//! Videos show what matters, and the way in which they are drawn changes nothing else.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::path::Path;
use std::sync::Arc;

use assay_scenario::{Library, Scenario};
use assay_sim::{CompiledScenario, Framing, Quality, Renderer, Simulation};

const ASPECT: f64 = 16.0 / 9.0;

fn scenarios() -> Vec<Arc<Scenario>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = Library::open(&root.join("scenarios"), &root.join("robots")).unwrap();
    library.scenarios().iter().map(|scenario| Arc::new(scenario.clone())).collect()
}

fn drawn(scenario: &Arc<Scenario>) -> CompiledScenario {
    CompiledScenario::build_to_draw(Arc::clone(scenario), 1280, 720, Quality::Frame).unwrap()
}

/// Executes one control step with this share (0 to 1) of each action's range.
fn act(world: &CompiledScenario, simulation: &mut Simulation, share: f64) {
    let action: Vec<f64> = world.scenario().control.action.iter().map(|a| a.low + share * (a.high - a.low)).collect();
    simulation.act(&action);
    (0..world.scenario().decimation()).for_each(|_| simulation.step().unwrap());
}

#[test]
fn drawing_changes_no_physics() {
    for scenario in scenarios() {
        let stepped = CompiledScenario::build(Arc::clone(&scenario)).unwrap();
        let states = [stepped, drawn(&scenario)].map(|world| {
            let mut simulation = world.simulation(5).unwrap();
            (0..10).for_each(|_| act(&world, &mut simulation, 0.55));
            let bits: Vec<u64> = simulation.integration_state().iter().map(|x| x.to_bits()).collect();
            bits
        });
        assert!(states[0] == states[1], "{}", scenario.id);
    }
}

#[test]
fn what_matters_is_in_the_picture() {
    let mut followed = 0;
    for scenario in scenarios() {
        let world = drawn(&scenario);
        let mut simulation = world.simulation(5).unwrap();
        let mut framing = Framing::new(&simulation, ASPECT).unwrap();
        let shown: Vec<usize> = simulation
            .bodies()
            .iter()
            .enumerate()
            .filter(|(index, body)| *index > 0 && !body.shapes.is_empty())
            .map(|(index, _)| index)
            .collect();
        if framing.follows() {
            followed += 1;
            continue;
        }
        for _ in 0..25 {
            act(&world, &mut simulation, 0.55);
            framing.include(&simulation);
            for body in &shown {
                let [x, y] = framing.project(&simulation, simulation.body_pose(*body).position).unwrap();
                assert!(x.abs() < 1.0 && (-1.0..0.9).contains(&y), "{}, body {body}: {x:.2}, {y:.2}", scenario.id);
            }
        }
    }
    assert_eq!(followed, 3, "a quadrotor and two mobile bases");
}

#[test]
fn a_robot_that_moves_far_stays_near_the_middle() {
    for scenario in scenarios() {
        let world = drawn(&scenario);
        let mut simulation = world.simulation(5).unwrap();
        let mut framing = Framing::new(&simulation, ASPECT).unwrap();
        if !framing.follows() {
            continue;
        }
        let prefix = format!("{}/", scenario.robots[0].name);
        let robot = simulation.bodies().iter().position(|body| body.name.starts_with(&prefix)).unwrap();
        let start = simulation.body_pose(robot).position;
        // Its height in m, and the least share of half the picture's height that this takes.
        let (size_m, least) = if scenario.id.to_string() == "quadrotor_gates" { (0.1, 0.13) } else { (0.9, 0.165) };
        for _ in 0..50 {
            act(&world, &mut simulation, 0.8);
            let [x, y] = framing.project(&simulation, simulation.body_pose(robot).position).unwrap();
            assert!(x.abs() < 0.5 && y.abs() < 0.5, "{}: {x:.2}, {y:.2}", scenario.id);
            let [from, to] = [-0.5, 0.5].map(|share| {
                let mut point = simulation.body_pose(robot).position;
                point[2] += share * size_m;
                framing.project(&simulation, point).unwrap()[1]
            });
            assert!(to - from > least, "{}: {:.3} of half the picture's height", scenario.id, to - from);
        }
        let end = simulation.body_pose(robot).position;
        let moved = (0..3).map(|axis| (end[axis] - start[axis]).powi(2)).sum::<f64>().sqrt();
        assert!(moved > 0.2, "{}: it moved only {moved:.2} m", scenario.id);
    }
}

#[test]
fn the_way_ahead_is_in_the_picture_before_a_quadrotor_rises() {
    let scenario = scenarios().into_iter().find(|scenario| scenario.id.to_string() == "quadrotor_gates").unwrap();
    let world = drawn(&scenario);
    let simulation = world.simulation(5).unwrap();
    let mut framing = Framing::new(&simulation, ASPECT).unwrap();
    let gates: Vec<usize> =
        (0..simulation.bodies().len()).filter(|body| simulation.bodies()[*body].name.starts_with("gate_")).collect();
    assert_eq!(gates.len(), 4);
    for gate in gates {
        let middle = simulation.body_pose(gate).position;
        for (across, up) in [(-0.35, -0.35), (-0.35, 0.35), (0.35, -0.35), (0.35, 0.35)] {
            let corner = [middle[0], middle[1] + across, middle[2] + up];
            let [x, y] = framing.project(&simulation, corner).unwrap();
            assert!(x.abs() < 0.95 && (-0.95..0.95).contains(&y), "gate {gate}: {x:.2}, {y:.2}");
        }
    }
}

#[test]
fn round_bowls_and_hands_stand_for_shapes_that_stay_framed() {
    let mut replaced = 0;
    for scenario in scenarios() {
        let worlds = [CompiledScenario::build(Arc::clone(&scenario)).unwrap(), drawn(&scenario)];
        let [stepped, drawn] = worlds.map(|world| world.simulation(5).unwrap());
        let shapes = |simulation: &Simulation| simulation.bodies().iter().map(|body| body.shapes.len()).sum::<usize>();
        let hidden = shapes(&stepped) - shapes(&drawn);
        let expected = match scenario.id.to_string().as_str() {
            // Twelve walls and a floor.
            "carry_cup" => 13,
            // Two hands and two forearms.
            "shared_workspace" => 4,
            _ => 0,
        };
        assert_eq!(hidden, expected, "{}", scenario.id);
        replaced += hidden;
        let poses = [&stepped, &drawn].map(|simulation| Framing::new(simulation, ASPECT).unwrap().pose(simulation));
        assert!(hidden == 0 || poses[0] == poses[1], "{}: {poses:?}", scenario.id);
    }
    assert_eq!(replaced, 17);
}

#[test]
fn drawing_between_steps_changes_nothing_and_shows_no_dots() {
    for id in ["open_drawer", "shared_workspace"] {
        let scenario = scenarios().into_iter().find(|scenario| scenario.id.to_string() == id).unwrap();
        let size = (640, 360);
        let states = [None, Some(Quality::Frame), Some(Quality::Still)].map(|quality| {
            let world = CompiledScenario::build_to_draw(
                Arc::clone(&scenario),
                size.0,
                size.1,
                quality.unwrap_or(Quality::Frame),
            )
            .unwrap();
            let mut simulation = world.simulation(5).unwrap();
            let mut renderer = quality.map(|quality| Renderer::new(&mut simulation, size, quality).unwrap());
            for _ in 0..3 {
                act(&world, &mut simulation, 0.55);
                let picture = renderer.as_mut().map(|renderer| renderer.draw(&mut simulation).unwrap());
                let count = picture.map_or(0, |picture| dots(&picture, size.0 as usize));
                assert!(count < 60, "{id}, {quality:?}: {count} dots");
            }
            let bits: Vec<u64> = simulation.integration_state().iter().map(|x| x.to_bits()).collect();
            bits
        });
        assert!(states.iter().all(|state| *state == states[0]), "{id}: drawing changed the physics");
    }
}

/// Returns the number of pixels that are darker than seven of their eight neighbours: surfaces that shadow themselves.
fn dots(rgb: &[u8], width: usize) -> usize {
    let grey: Vec<i32> = rgb.chunks_exact(3).map(|p| p.iter().map(|c| i32::from(*c)).sum::<i32>() / 3).collect();
    let rows = grey.len() / width;
    let lonely = |at: usize| {
        let around = [at - width, at, at + width].into_iter().flat_map(|middle| middle - 1..=middle + 1);
        around.filter(|other| grey[*other] >= grey[at] + 20).count() >= 7
    };
    (1..rows - 1)
        .flat_map(|row| (1..width - 1).map(move |column| row * width + column))
        .filter(|at| lonely(*at))
        .count()
}
