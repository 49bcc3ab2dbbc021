//! Tests of the controller's reference, the pruning of distances, and contacts.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use std::path::Path;

use assay_scenario::{Library, Signal};

use super::*;
use crate::CompiledScenario;

fn tabletop() -> CompiledScenario {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = Library::open(&root.join("scenarios"), &root.join("robots")).unwrap();
    CompiledScenario::build(Arc::new(library.find("tabletop_reach").unwrap())).unwrap()
}

/// Returns the arm's joint velocity reference: the speed of the servos' targets within a control step.
fn reference(simulation: &mut Simulation, actuators: &[usize], steps: u32) -> Vec<f64> {
    let ctrl = |simulation: &Simulation| actuators.iter().map(|i| simulation.data.ctrl()[*i]).collect::<Vec<f64>>();
    let mut velocity = Vec::new();
    for step in 0..steps {
        let before = ctrl(simulation);
        simulation.step().unwrap();
        if step > 0 {
            let dt = simulation.scenario.world.timestep_s;
            velocity = ctrl(simulation).iter().zip(&before).map(|(after, before)| (after - before) / dt).collect();
        }
    }
    velocity
}

/// Returns an action of a random policy: numbers within and beyond the range of the action, new at every step or held
/// for long.
fn random_action(generator: &mut Generator, scenario: &Scenario, previous: &[f64]) -> Vec<f64> {
    if !previous.is_empty() && generator.unit() < 0.9 {
        return previous.to_vec();
    }
    scenario.control.action.iter().map(|spec| 1.5 * generator.uniform(spec.low, spec.high)).collect()
}

#[test]
fn no_action_drives_the_arm_beyond_the_manufacturers_limits() {
    let world = tabletop();
    let scenario = Arc::clone(world.scenario());
    let limits = &scenario.robots[0].model.limits;
    let period_s = 1.0 / scenario.world.control_hz;
    for seed in 0..20 {
        let mut simulation = world.simulation(seed).unwrap();
        let ids = handle::robot(simulation.data.model(), &scenario.robots[0]).unwrap();
        let mut generator = Generator::new(1000 + seed);
        let (mut action, mut before) = (Vec::new(), vec![0.0; 7]);
        for step in 0..250 {
            action = random_action(&mut generator, &scenario, &action);
            simulation.act(&action);
            let velocity = reference(&mut simulation, &ids.actuators, scenario.decimation());
            for i in 0..7 {
                let at = format!("seed {seed}, step {step}, joint {}", i + 1);
                let (speed, change) = (velocity[i], (velocity[i] - before[i]) / period_s);
                assert!(speed.abs() <= limits.velocity[i] * (1.0 + 1e-9), "{at}: {speed} rad/s");
                assert!(change.abs() <= limits.acceleration[i] * (1.0 + 1e-6), "{at}: {change} rad/s2");
                let q = simulation.data.qpos()[ids.qpos[i]];
                let range = limits.position_low[i]..=limits.position_high[i];
                assert!(range.contains(&q), "{at}: {q} rad");
                let torque = simulation.data.qfrc_actuator()[ids.dof[i]];
                assert!(torque.abs() <= limits.torque[i] * (1.0 + 1e-9), "{at}: {torque} Nm");
            }
            before = velocity;
            assert!(simulation.sample.iter().all(|x| x.is_finite()), "{:?}", simulation.sample);
        }
    }
}

#[test]
fn pruning_by_bounding_spheres_changes_no_distance() {
    let world = tabletop();
    let scenario = Arc::clone(world.scenario());
    let limits = &scenario.robots[0].model.limits;
    let mut touching = 0;
    let mut clear = 0;
    for seed in 0..10 {
        let mut simulation = world.simulation(seed).unwrap();
        let ids = handle::robot(simulation.data.model(), &scenario.robots[0]).unwrap();
        let mut generator = Generator::new(seed);
        for _ in 0..100 {
            for i in 0..7 {
                let q = generator.uniform(limits.position_low[i], limits.position_high[i]);
                simulation.data.qpos_mut()[ids.qpos[i]] = q;
            }
            simulation.data.forward();
            for (extractor, (_, kind)) in simulation.extractors.iter_mut().zip(&scenario.signals) {
                let (Extractor::Physics(signal), Signal::Distance { a, b, cutoff }) = (extractor, kind) else {
                    continue;
                };
                let (pairs, cutoff) = (simulation.groups.pairs(a, b), *cutoff);
                let mut step = StepState {
                    data: &mut simulation.data,
                    groups: &simulation.groups,
                    qpos: &simulation.qpos,
                    qvel: &simulation.qvel,
                    action: &[],
                    time_s: 0.0,
                };
                let pruned = signal.value(&mut step);
                let each = pairs.iter().map(|(a, b)| simulation.data.geom_distance(*a, *b, cutoff, None));
                let brute = each.fold(cutoff, f64::min);
                assert!((pruned - brute).abs() <= 1e-12, "{pruned} is not {brute}");
                touching += u32::from(brute < 0.0);
                clear += u32::from(brute == cutoff);
            }
        }
    }
    assert!(touching > 20 && clear > 20, "too few poses of a kind: {touching} touch, {clear} are clear");
}

#[test]
fn every_overlap_with_a_post_has_a_contact() {
    let world = tabletop();
    let scenario = Arc::clone(world.scenario());
    let limits = &scenario.robots[0].model.limits;
    let column = scenario.signal_names().iter().position(|name| *name == "post_clearance").unwrap();
    let mut simulation = world.simulation(3).unwrap();
    let posts: Vec<usize> =
        (0..3).map(|i| handle::geom(simulation.data.model(), &format!("post_{i}"), "test").unwrap()).collect();
    let ids = handle::robot(simulation.data.model(), &scenario.robots[0]).unwrap();
    let mut generator = Generator::new(4);
    let mut overlaps = 0;
    for _ in 0..3000 {
        for i in 0..7 {
            let q = generator.uniform(limits.position_low[i], limits.position_high[i]);
            simulation.data.qpos_mut()[ids.qpos[i]] = q;
        }
        simulation.data.forward();
        simulation.measure();
        if simulation.sample[column] < -1e-6 {
            overlaps += 1;
            let touches = |geom: i32| usize::try_from(geom).is_ok_and(|geom| posts.contains(&geom));
            let contacts = simulation.data.contact();
            assert!(
                contacts.iter().any(|contact| contact.geom.iter().any(|geom| touches(*geom))),
                "an overlap has no contact"
            );
        }
    }
    assert!(overlaps > 50, "{overlaps}");
}
