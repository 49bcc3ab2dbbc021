//! Facts that a preflight reports in addition to its findings: tables of the data sent and received.

use std::time::Duration;

use assay_model::{ActionTerm, Finding, FindingLevel, LatencyMs, ObservedTerm, PolicyBudget, Preflight, ServerAnswers};
use assay_scenario::Scenario;

use super::job::PreflightJob;
use super::tries::{Tried, Tries};

pub(super) fn preflight(job: &PreflightJob, tries: &Tries, findings: Vec<Finding>, took: Duration) -> Preflight {
    let Tries { first, second, .. } = tries;
    let scenario = &job.scenario;
    let probed = &first.probed;
    let answers = first.answers.map(|answers| ServerAnswers {
        count: answers.count,
        shortest: answers.shortest,
        longest: answers.longest,
        replan_steps: job.replan_steps(),
    });
    Preflight {
        holds: findings.iter().all(|finding| finding.level != FindingLevel::Problem),
        scenario: scenario.id.clone(),
        scenario_version: scenario.version.clone(),
        policy_name: job.policy_name.clone(),
        policy_sha256: job.policy_sha256,
        policy_identity: job.identity(),
        speaks: first.speaks.clone(),
        instruction: scenario.instruction.clone(),
        control_hz: scenario.world.control_hz,
        time_limit_s: scenario.time_limit_s,
        observation: observation(scenario),
        images: scenario.image_cost(),
        action: action(scenario, &probed.actions),
        budget: budget(scenario),
        steps: u32::try_from(probed.actions.len()).unwrap_or(u32::MAX),
        import_cpu_ms: first.import_cpu.map(|cpu| cpu.as_secs_f64() * 1e3),
        latency_ms: percentiles(probed.latency_ms.get(1..).unwrap_or_default()),
        cpu_ms: percentiles(probed.cpu_ms.get(1..).unwrap_or_default()),
        first_latency_ms: probed.latency_ms.first().copied(),
        deterministic: second.as_ref().and_then(|second| is_deterministic(first, second)),
        answers,
        error: first.error.clone().or_else(|| second.as_ref().and_then(|second| second.error.clone())),
        findings,
        wall_time_s: took.as_secs_f64(),
    }
}

/// Returns whether both tries gave the same actions, up to the end of the shorter; `None` if one of them has none.
pub(super) fn is_deterministic(first: &Tried, second: &Tried) -> Option<bool> {
    let (first, second) = (&first.probed.actions, &second.probed.actions);
    let both = first.len().min(second.len());
    // Compares bits: -0.0 is not 0.0.
    let bits = |actions: &[Vec<f64>]| actions.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
    (both > 0).then(|| bits(&first[..both]) == bits(&second[..both]))
}

pub(super) fn budget(scenario: &Scenario) -> PolicyBudget {
    let budget = scenario.spec().budget;
    PolicyBudget {
        import_cpu_ms: budget.import_cpu_ms,
        first_cpu_ms: budget.first_cpu_ms,
        step_cpu_ms: budget.step_cpu_ms,
        hard_cpu_ms: budget.hard_cpu_ms,
    }
}

fn observation(scenario: &Scenario) -> Vec<ObservedTerm> {
    let time = |name: &str, description: &str| ObservedTerm {
        name: name.to_owned(),
        dtype: "float64".to_owned(),
        shape: Vec::new(),
        unit: "s".to_owned(),
        description: description.to_owned(),
    };
    let terms = scenario.spec().observation.into_iter().map(|array| ObservedTerm {
        name: array.name,
        dtype: array.dtype.to_owned(),
        shape: array.shape,
        unit: array.unit.to_owned(),
        description: array.description,
    });
    [time("time", "Simulated time."), time("time_remaining", "Simulated time that is left.")]
        .into_iter()
        .chain(terms)
        .collect()
}

fn action(scenario: &Scenario, actions: &[Vec<f64>]) -> Vec<ActionTerm> {
    let term = |(index, spec): (usize, &assay_scenario::ActionSpec)| {
        let column: Vec<f64> = actions.iter().filter_map(|action| action.get(index).copied()).collect();
        let clipped = column.iter().filter(|x| !(spec.low..=spec.high).contains(*x)).count();
        ActionTerm {
            name: spec.name.clone(),
            unit: spec.unit.clone(),
            low: spec.low,
            high: spec.high,
            least: column.iter().copied().reduce(f64::min),
            greatest: column.iter().copied().reduce(f64::max),
            clipped: u32::try_from(clipped).unwrap_or(u32::MAX),
        }
    };
    scenario.control.action.iter().enumerate().map(term).collect()
}

/// Returns nearest-rank percentiles; `None` if there are no values.
pub(super) fn percentiles(values: &[f64]) -> Option<LatencyMs> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let rank = |per_cent: usize| sorted[(last * per_cent).div_ceil(100).min(last)];
    Some(LatencyMs { p50: rank(50), p95: rank(95), p99: rank(99), max: sorted[last] })
}
