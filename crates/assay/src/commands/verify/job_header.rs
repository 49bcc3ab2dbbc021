//! The plan and the header of a verification's job.

use anyhow::anyhow;
use assay_api::OsEntropy;
use assay_model::{Clock, Entropy, JobHeader, JobId, Plan, SystemClock, job_seeds};
use assay_scenario::Scenario;

use super::arguments::{MAX_EPISODES, VerifyArgs};
use crate::exit::Failure;
use crate::source::ResolvedPolicy;

/// Returns the plan, which is fixed before the first episode. Unless a number is given, a certification has as many
/// episodes as its target requires.
pub(super) fn plan(arguments: &VerifyArgs, scenario: &Scenario) -> Result<Plan, Failure> {
    let (target, confidence_level) = (arguments.max_violation_probability, arguments.confidence);
    let episodes =
        arguments.episodes.unwrap_or_else(|| Plan::default_episodes(target, confidence_level, Plan::DEFAULT_EPISODES));
    if episodes > MAX_EPISODES {
        let error = anyhow!("{episodes} clean episodes would be needed, but at most {MAX_EPISODES} can be run");
        return Err(Failure::Usage(error.context("--max-violation-probability and --confidence")));
    }
    let max_violation_probability = scenario.arena.max_violation_probability;
    let draws_worlds = !scenario.drawn_ranges().is_empty();
    let plan = Plan { episodes, target, confidence_level, max_violation_probability, draws_worlds };
    match plan.refusal() {
        Some(reason) => Err(Failure::Usage(anyhow!(reason).context("--max-violation-probability"))),
        None => Ok(plan),
    }
}

/// Returns the header of a new job.
pub(super) fn header(arguments: &VerifyArgs, plan: Plan, scenario: &Scenario, policy: &ResolvedPolicy) -> JobHeader {
    let mut random = [0; 10];
    OsEntropy.fill(&mut random);
    let created_at = SystemClock.now();
    let (seed, policy_key) = job_seeds(arguments.seed, arguments.policy_key.clone(), &OsEntropy);
    JobHeader {
        job_id: JobId::new(created_at, random),
        scenario: scenario.id.clone(),
        scenario_version: scenario.version.clone(),
        scenario_digest: scenario.digest,
        render_profile: scenario.card().render_profile,
        policy_name: policy.name.clone(),
        policy_sha256: policy.sha256,
        policy_identity: policy.identity,
        runtime: policy.runtime.clone(),
        models: policy.models.clone(),
        replan_steps: policy.replan_steps,
        seed,
        policy_key: Some(policy_key),
        record: arguments.record,
        plan,
        created_at,
        warnings: plan.shortfall().into_iter().collect(),
        arena: None,
        labels: std::collections::BTreeMap::new(),
        drawn_ranges: Some(scenario.drawn_ranges()),
    }
}
