//! Every built-in scenario compiles, starts at rest where it should, and repeats to the bit.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::path::Path;
use std::sync::Arc;

use assay_model::frame::{ArraySpec, Dtype};
use assay_scenario::Library;
use assay_sim::{CompiledScenario, Simulation};

fn library() -> Library {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Library::open(&root.join("scenarios"), &root.join("robots")).unwrap()
}

fn worlds() -> Vec<CompiledScenario> {
    let worlds: Vec<CompiledScenario> =
        library().scenarios().iter().map(|s| CompiledScenario::build(Arc::new(s.clone())).unwrap()).collect();
    assert!(worlds.len() >= 2);
    worlds
}

/// Runs one second with a zero action; the hash and the last sample.
fn second(world: &CompiledScenario, mut simulation: Simulation) -> (String, Vec<f64>) {
    let scenario = world.scenario();
    let mut hash = simulation.start_hash();
    let action: Vec<f64> = scenario.control.action.iter().map(|a| 0.0_f64.clamp(a.low, a.high)).collect();
    let mut observation = Vec::new();
    for _ in 0..50 {
        observation.clear();
        simulation.observe(&mut observation).unwrap();
        let bytes =
            |spec: &ArraySpec| spec.shape.iter().product::<u32>() * if spec.dtype == Dtype::F64 { 8 } else { 1 };
        let length: u32 = simulation.observation_spec().iter().map(bytes).sum();
        assert_eq!(observation.len(), length as usize);
        assert!(!simulation.act(&action), "zero is in range");
        for _ in 0..scenario.decimation() {
            simulation.step().unwrap();
        }
        let action = simulation.action().to_vec();
        hash.step(simulation.integration_state(), &action);
    }
    (hash.digest().to_string(), simulation.sample().to_vec())
}

#[test]
fn every_world_repeats_to_the_bit() {
    for world in worlds() {
        let run = |seed| second(&world, world.simulation(seed).unwrap());
        let (first, sample) = run(11);
        assert_eq!(first, run(11).0, "{}", world.scenario().id);
        assert_ne!(first, run(12).0, "{}", world.scenario().id);
        assert!(sample.iter().all(|x| x.is_finite()), "{}: {sample:?}", world.scenario().id);
    }
}

#[test]
fn doing_nothing_breaks_no_clause_at_the_start() {
    for world in worlds() {
        let scenario = world.scenario();
        for seed in 0..20 {
            let simulation = world.simulation(seed).unwrap();
            for clause in &scenario.clauses {
                let columns: Vec<[f64; 1]> = simulation.sample().iter().map(|x| [*x]).collect();
                let columns: Vec<&[f64]> = columns.iter().map(<[f64; 1]>::as_slice).collect();
                let margin = clause.bound.pointwise(&columns)[0];
                assert!(margin > 0.0, "{} seed {seed}: {} has margin {margin}", scenario.id, clause.id);
            }
        }
    }
}
