//! Runs the physics of an episode again under its recorded actions, without a policy.

use assay_model::lane::AuditJob;
use assay_model::{Comparison, Termination};
use assay_scenario::Scenario;
use assay_sim::Simulation;

use crate::compare::{compared, compared_start};
use crate::facts::facts;
use crate::inputs::InputRecorder;
use crate::{Inputs, Trace};

/// The result of running the physics again.
pub(crate) struct Restepped {
    pub(crate) comparison: Comparison,
    /// True if they became unstable where the trace ends.
    pub(crate) is_unstable: bool,
}

/// Steps `simulation`, at the start of the episode, under the actions of `trace`: all of them, or only the first.
/// Compares every row, hash and fact.
///
/// # Errors
/// The reason why these actions cannot be those of the episode.
pub(crate) fn restep(
    scenario: &Scenario,
    simulation: &mut Simulation,
    trace: &Trace,
    job: &AuditJob,
) -> Result<Restepped, String> {
    if trace.group("action").len() != scenario.control.action.len() {
        return Err("its trace lacks numbers of the action".to_owned());
    }
    let firsts = trace.control_rows();
    let is_whole = job.restep || firsts.len() <= 1;
    let count = if is_whole { firsts.len() } else { 1 };
    let claimed = &job.claimed;
    if trace.hashes.is_empty() && claimed.trace_hash.is_some_and(|hash| hash != simulation.start_hash().digest()) {
        return Err("its trace hash is not that of the world's start".to_owned());
    }
    let mut again = Trace::new(simulation, &scenario.signal_names(), trace.rows());
    again.facts = facts(scenario, (claimed.episode, job.seeds), simulation);
    let is_unstable = step(simulation, trace, &firsts[..count], &mut again)?;
    let is_cut = claimed.termination == Termination::Unstable && firsts.len() > trace.hashes.len();
    if is_whole && is_cut && !is_unstable {
        return Err("the physics do not become unstable where its trace ends".to_owned());
    }
    let comparison = if is_whole { compared(trace, &again) } else { compared_start(trace, &again) };
    if comparison.difference.is_none() && again.facts != trace.facts {
        return Err("its trace states other facts".to_owned());
    }
    if comparison.difference.is_none() && is_whole && !is_same(&again.inputs, &trace.inputs) {
        return Err("the inputs of its trace are not those of the physics".to_owned());
    }
    Ok(Restepped { comparison, is_unstable })
}

/// Executes the control steps of `trace` that begin at the rows `firsts`, and records them in `again`. Returns true if
/// the physics became unstable in one that `trace` does not finish.
fn step(simulation: &mut Simulation, trace: &Trace, firsts: &[usize], again: &mut Trace) -> Result<bool, String> {
    let actions = trace.group("action");
    let (mut hash, mut inputs) = (simulation.start_hash(), InputRecorder::new(simulation));
    let mut is_unstable = false;
    for (number, (step, first)) in (0_i32..).zip(firsts).enumerate() {
        let action: Vec<f64> = actions.iter().map(|column| column[*first]).collect();
        simulation.refresh();
        if action.iter().any(|number| !number.is_finite()) || simulation.act(&action) {
            return Err(format!("the action of control step {step} is out of range"));
        }
        for _ in trace.rows_of(*first) {
            if simulation.advance().is_err() {
                return Err(format!("the physics became unstable in control step {step}"));
            }
            simulation.measure();
            again.push(simulation, step);
            inputs.push(simulation);
        }
        if number >= trace.hashes.len() {
            // Only an episode that became unstable ends with an unfinished control step.
            is_unstable = simulation.advance().is_err();
            break;
        }
        let action = simulation.action().to_vec();
        hash.step(simulation.integration_state(), &action);
        again.hashes.push(*hash.digest().as_bytes());
    }
    again.inputs = inputs.finish();
    Ok(is_unstable)
}

fn is_same(one: &Inputs, other: &Inputs) -> bool {
    let bits = |inputs: &Inputs| -> Vec<Vec<u64>> {
        inputs.columns.iter().map(|column| column.iter().map(|number| number.to_bits()).collect()).collect()
    };
    one.names == other.names && bits(one) == bits(other)
}
