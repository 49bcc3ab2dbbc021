//! Runs the physics of an episode again under its recorded actions, without a policy.

use assay_model::{Comparison, EpisodeResult};
use assay_sim::{CompiledScenario, TraceHash};

use crate::Trace;
use crate::compare::compared;

/// Beginning of the names of facts about draws.
const DRAW: &str = "draw.";

/// Steps the world that `world_seed` draws under the actions of `trace`, and compares every row and every hash.
///
/// # Errors
/// The reason why these actions cannot be those of an episode.
pub(crate) fn restep(
    world: &CompiledScenario,
    world_seed: u64,
    trace: &Trace,
    claimed: &EpisodeResult,
) -> Result<Comparison, String> {
    let scenario = world.scenario();
    let mut simulation = world.simulation(world_seed).map_err(|error| error.to_string())?;
    let mut again = Trace::new(&simulation, &scenario.signal_names(), trace.rows());
    let actions = trace.group("action");
    if actions.len() != scenario.control.action.len() {
        return Err("its trace lacks numbers of the action".to_owned());
    }
    let mut hash: TraceHash = simulation.start_hash();
    if trace.hashes.is_empty() && claimed.trace_hash.is_some_and(|claimed| claimed != hash.digest()) {
        return Err("its trace hash is not that of the world's start".to_owned());
    }
    for (step, first) in (0_i32..).zip(trace.control_rows()) {
        let action: Vec<f64> = actions.iter().map(|column| column[first]).collect();
        simulation.refresh();
        if action.iter().any(|number| !number.is_finite()) || simulation.act(&action) {
            return Err(format!("the action of control step {step} is out of range"));
        }
        for _ in trace.rows_of(first) {
            if simulation.advance().is_err() {
                return Err(format!("the physics became unstable in control step {step}"));
            }
            simulation.measure();
            again.push(&simulation, step);
        }
        let action = simulation.action().to_vec();
        hash.step(simulation.integration_state(), &action);
        again.hashes.push(*hash.digest().as_bytes());
    }
    again.facts = trace.facts.iter().filter(|(key, _)| !key.starts_with(DRAW)).cloned().collect();
    let draws = simulation.draw().parameters.iter();
    again.facts.extend(draws.map(|(name, value)| (format!("{DRAW}{name}"), value.to_string())));
    Ok(compared(trace, &again))
}
