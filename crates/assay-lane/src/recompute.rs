//! Recomputes an episode's result from the signals of its trace.

use assay_model::{EpisodeResult, EpisodeStatus, Sha256Digest, Termination};
use assay_scenario::Scenario;
use assay_stl::TraceEnd;

use crate::Trace;
use crate::assess::{Assessment, TaskWatch, assess};
use crate::watch::ClauseWatch;

/// Tolerance for the time of a row, in seconds: MuJoCo adds up the physics step.
const TIME_TOLERANCE_S: f64 = 1e-6;

/// The way in which a trace ends.
struct TraceOutcome<'a> {
    task: TaskWatch<'a>,
    /// Number of control steps.
    steps: u32,
    /// True if the success condition ended it.
    succeeded: bool,
    /// True if a terminal clause ended it.
    terminal: bool,
    last_s: f64,
}

/// Returns the result that follows from the trace: clauses, violations, stages, success and scores. What a trace cannot
/// show (the policy's error, its latency) is that of `claimed`. The violations name no bodies.
///
/// # Errors
/// The reason why the trace is not that of an episode that ended as `claimed` says.
pub(crate) fn recompute(scenario: &Scenario, trace: &Trace, claimed: &EpisodeResult) -> Result<EpisodeResult, String> {
    let outcome = follow(scenario, trace, claimed.termination == Termination::Unstable)?;
    if claimed.steps != outcome.steps {
        return Err(format!("its trace has {} control steps, the result {}", outcome.steps, claimed.steps));
    }
    let is_whole = outcome.steps == scenario.control_steps();
    let (status, fits) = match claimed.termination {
        Termination::Success => (EpisodeStatus::Completed, outcome.succeeded),
        Termination::TimeLimit => (EpisodeStatus::Completed, is_whole && !outcome.succeeded && !outcome.terminal),
        Termination::TerminalClause => (EpisodeStatus::Completed, outcome.terminal),
        Termination::PolicyError => (EpisodeStatus::PolicyError, !outcome.succeeded && !outcome.terminal && !is_whole),
        Termination::PolicyTimeout => {
            (EpisodeStatus::PolicyTimeout, !outcome.succeeded && !outcome.terminal && !is_whole)
        }
        Termination::Unstable => (EpisodeStatus::Invalid, !outcome.succeeded && !outcome.terminal),
        Termination::Cancelled => return Err("a cancelled episode has no result".to_owned()),
    };
    let has_error = !matches!(status, EpisodeStatus::Completed);
    if !fits || status != claimed.status || has_error != claimed.error.is_some() {
        return Err("its trace does not end in the way that the result says".to_owned());
    }
    let is_complete = matches!(claimed.termination, Termination::Success | Termination::TimeLimit);
    let success = match claimed.termination {
        Termination::Success => true,
        Termination::TimeLimit => scenario.success.at_end && outcome.task.succeeded(outcome.last_s),
        _ => false,
    };
    let end = if is_complete { TraceEnd::Complete } else { TraceEnd::Cut };
    let Assessment { clauses, violations, unsafe_time_s } = assess(scenario, trace, None, end);
    let rows = u32::try_from(trace.rows()).unwrap_or(u32::MAX);
    let result = EpisodeResult {
        success,
        steps: outcome.steps,
        sim_time_s: f64::from(rows) * scenario.world.timestep_s,
        stages: outcome.task.stages(),
        clauses,
        violations,
        unsafe_time_s,
        // Without a step it is that of the world's start, which only the physics can show.
        trace_hash: trace.hashes.last().map_or(claimed.trace_hash, |hash| Some(Sha256Digest::new(*hash))),
        ..claimed.clone()
    };
    let (weights, scales): (Vec<f64>, Vec<f64>) =
        scenario.clauses.iter().map(|clause| (clause.weight, clause.scale)).unzip();
    Ok(result.scored(&weights, &scales))
}

/// Follows a trace from its first row to its last, as the episode loop does.
fn follow<'a>(scenario: &'a Scenario, trace: &Trace, is_unstable: bool) -> Result<TraceOutcome<'a>, String> {
    let signals = trace.signals();
    let expected: Vec<String> = scenario.signals.iter().map(|(name, _)| format!("signal.{name}")).collect();
    if trace.names.get(trace.first_signal..) != Some(expected.as_slice())
        || trace.names.first().is_none_or(|n| n != "time_s")
    {
        return Err("its trace lacks signals of the scenario, or has others".to_owned());
    }
    let (mut task, mut clauses) = (TaskWatch::new(scenario), ClauseWatch::new(scenario));
    let mut sample = vec![0.0; signals.len()];
    let (decimation, rows) = (scenario.decimation() as usize, trace.rows());
    let steps = u32::try_from(trace.hashes.len()).unwrap_or(u32::MAX);
    // The control step in which the physics became unstable has rows, but no hash.
    let unfinished = trace.control_rows().len().checked_sub(trace.hashes.len());
    if unfinished.is_none_or(|count| count > usize::from(is_unstable)) || steps > scenario.control_steps() {
        return Err("its trace has the wrong number of control steps".to_owned());
    }
    let (mut succeeded, mut terminal) = (false, false);
    for row in 0..rows {
        sample.iter_mut().zip(&signals).for_each(|(value, column)| *value = column[row]);
        let (step, substep) = (row / decimation, row % decimation);
        #[expect(clippy::cast_precision_loss, reason = "a trace has far fewer than 2^52 rows")]
        let on_time = (sample[0] - row as f64 * scenario.world.timestep_s).abs() <= TIME_TOLERANCE_S;
        if !on_time || usize::try_from(trace.control_step[row]) != Ok(step) {
            return Err(format!("row {row} of its trace is out of order"));
        }
        if succeeded || terminal {
            return Err(format!("its trace continues after the end of the episode, at row {row}"));
        }
        clauses.push(&sample);
        terminal = clauses.ends_episode();
        if substep + 1 == decimation && !terminal {
            succeeded = task.update(&sample);
        }
    }
    if !rows.is_multiple_of(decimation) && !terminal && !is_unstable {
        return Err("its trace ends within a control step".to_owned());
    }
    Ok(TraceOutcome { task, steps, succeeded, terminal, last_s: sample[0] })
}
