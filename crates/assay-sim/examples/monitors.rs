//! Measures the cost of eight streaming monitors next to the physics step of `tabletop_reach`.
//!
//! `cargo run --release -p assay-sim --example monitors` prints both in nanoseconds per physics step.
#![expect(clippy::print_stdout, reason = "it prints its measurements")]
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_scenario::Library;
use assay_sim::CompiledScenario;

const CLAUSES: usize = 8;
const EPISODES: u64 = 8;
const CONTROL_STEPS: usize = 250;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scenario = Library::open(&root.join("scenarios"), &root.join("robots"))?.find("tabletop_reach")?;
    let world = CompiledScenario::build(Arc::new(scenario))?;
    let (mut physics, mut monitors, mut steps) = (Duration::ZERO, Duration::ZERO, 0_u32);
    for seed in 0..EPISODES {
        let samples = episode(&world, seed, &mut physics)?;
        steps += u32::try_from(samples.len())?;
        let mut watched: Vec<_> =
            world.scenario().clauses.iter().cycle().take(CLAUSES).map(|c| c.bound.monitor()).collect();
        let start = Instant::now();
        for sample in &samples {
            for monitor in &mut watched {
                black_box(monitor.push(black_box(sample)));
            }
        }
        monitors += start.elapsed();
    }
    let each = |total: Duration| total.as_secs_f64() * 1e9 / f64::from(steps);
    println!("physics {} ns, {CLAUSES} monitors {} ns a step", each(physics), each(monitors));
    Ok(())
}

/// Swings the arm and returns the samples of every physics step.
fn episode(world: &CompiledScenario, seed: u64, physics: &mut Duration) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let mut simulation = world.simulation(seed)?;
    let (mut samples, mut observation) = (Vec::new(), Vec::new());
    let specs = &world.scenario().control.action;
    for step in 0..CONTROL_STEPS {
        observation.clear();
        simulation.observe(&mut observation)?;
        let phase = step as f64 * 0.05;
        let action: Vec<f64> = specs.iter().enumerate().map(|(i, a)| 0.3 * a.high * (phase + i as f64).sin()).collect();
        simulation.act(&action);
        for _ in 0..world.scenario().decimation() {
            let start = Instant::now();
            simulation.advance()?;
            *physics += start.elapsed();
            simulation.measure();
            samples.push(simulation.sample().to_vec());
        }
    }
    Ok(samples)
}
