//! Results of episodes that no simulator completed.

use assay_model::{
    ClauseResult, ClauseStatus, EpisodeError, EpisodeResult, EpisodeSeeds, EpisodeStatus, PolicyErrorCode, StageResult,
    Termination,
};
use assay_policy::PolicyFailure;
use assay_scenario::Scenario;

/// Returns the error of a policy that could not be imported or reached.
pub(crate) fn not_started_error(failure: PolicyFailure) -> EpisodeError {
    let log_tail = if failure.traceback.is_empty() { failure.log_tail } else { failure.traceback };
    EpisodeError { code: failure.code, message: failure.message, log_tail }
}

/// Returns the result of an episode whose policy could not be imported or reached.
pub(crate) fn not_started(
    scenario: &Scenario,
    episode: u32,
    seeds: EpisodeSeeds,
    failure: PolicyFailure,
) -> EpisodeResult {
    let timeout = failure.code.is_timeout();
    let error = not_started_error(failure);
    let mut result = empty(scenario, episode, seeds, error);
    if timeout {
        (result.status, result.termination) = (EpisodeStatus::PolicyTimeout, Termination::PolicyTimeout);
    }
    result
}

/// The reason why an episode did not reach its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Its simulator died twice in the same way; reported to the scenario's author.
    SimulatorDied,
    /// Every allowed attempt was interrupted from outside.
    CutOff,
}

/// Returns the result of an episode that did not reach its end; `message` describes the reason.
pub(crate) fn without_end(
    scenario: &Scenario,
    episode: u32,
    seeds: EpisodeSeeds,
    (loss, message): (Loss, &str),
) -> EpisodeResult {
    let code = match loss {
        Loss::SimulatorDied => PolicyErrorCode::SimulatorDied,
        Loss::CutOff => PolicyErrorCode::CutOff,
    };
    let error = EpisodeError { code, message: message.to_owned(), log_tail: String::new() };
    let mut result = empty(scenario, episode, seeds, error);
    (result.status, result.termination) = (EpisodeStatus::Invalid, Termination::Unstable);
    result
}

/// Returns a result of an episode without a single step: its clauses are undetermined, its stages not passed.
pub(crate) fn without_steps(scenario: &Scenario, episode: u32, seeds: EpisodeSeeds) -> EpisodeResult {
    without_end(scenario, episode, seeds, (Loss::CutOff, ""))
}

/// Returns the result of an episode without a single step.
fn empty(scenario: &Scenario, episode: u32, seeds: EpisodeSeeds, error: EpisodeError) -> EpisodeResult {
    let clause = |clause: &assay_scenario::Clause| ClauseResult {
        id: clause.id.clone(),
        level: clause.level,
        standard: clause.standard.clone(),
        unit: clause.unit.clone(),
        limit: clause.limit,
        scale: Some(clause.scale),
        status: ClauseStatus::Undetermined,
        robustness: None,
        worst_value: None,
        worst_time_s: None,
        vacuous: false,
        violation_count: 0,
    };
    let stage = |stage: &assay_scenario::Stage| StageResult {
        name: stage.name.clone(),
        points: stage.points,
        passed: false,
        time_s: None,
    };
    EpisodeResult {
        episode,
        seed: seeds.policy,
        status: EpisodeStatus::PolicyError,
        termination: Termination::PolicyError,
        success: false,
        progress_score: 0.0,
        safety_score: 0.0,
        composite_score: 0.0,
        steps: 0,
        sim_time_s: 0.0,
        wall_time_s: 0.0,
        stages: scenario.stages.iter().map(stage).collect(),
        clauses: scenario.clauses.iter().map(clause).collect(),
        violations: Vec::new(),
        unsafe_time_s: 0.0,
        policy_latency_ms: None,
        deadline_misses: 0,
        clipped_actions: 0,
        video_path: None,
        log_path: None,
        log_type: None,
        trace_hash: None,
        judge: None,
        error: Some(error),
        evidence: Vec::new(),
        evidence_notes: Vec::new(),
        replaced_attempts: Vec::new(),
        unconfirmed: Vec::new(),
    }
}
