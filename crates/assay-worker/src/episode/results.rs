//! Results of episodes that no simulator completed.

use assay_model::{
    ClauseResult, ClauseStatus, EpisodeError, EpisodeResult, EpisodeSeeds, EpisodeStatus, PolicyErrorCode, StageResult,
    Termination,
};
use assay_policy::PolicyFailure;
use assay_scenario::Scenario;

/// Maximum length of a text of another process in an error, in bytes.
const MAX_SHOWN_BYTES: usize = 64;

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

/// Returns the first clause or stage of `result` that is not the scenario's; whoever computed the result may have read
/// another scenario.
pub(crate) fn differs_from(scenario: &Scenario, result: &EpisodeResult) -> Option<String> {
    let (clauses, stages) = (&scenario.clauses, &scenario.stages);
    if result.clauses.len() != clauses.len() {
        return Some(format!("the result has {} clauses, not {}", result.clauses.len(), clauses.len()));
    }
    let is_same = |own: &assay_scenario::Clause, found: &ClauseResult| {
        found.id == own.id
            && found.level == own.level
            && found.standard == own.standard
            && found.unit == own.unit
            && found.title.as_ref().is_none_or(|title| *title == own.title)
            && found.harm.is_none_or(|harm| harm == own.harm)
            && found.limit.to_bits() == own.limit.to_bits()
            && found.scale.is_none_or(|scale| scale.to_bits() == own.scale.to_bits())
    };
    if let Some((own, found)) = clauses.iter().zip(&result.clauses).find(|(own, found)| !is_same(own, found)) {
        return Some(format!(
            "clause {} with the limit {} {} is not the scenario's clause {} with the limit {} {}",
            assay_model::sanitise(&found.id, MAX_SHOWN_BYTES),
            found.limit,
            assay_model::sanitise(&found.unit, MAX_SHOWN_BYTES),
            own.id,
            own.limit,
            own.unit
        ));
    }
    if let Some(violation) = result.violations.iter().find(|found| clauses.iter().all(|own| own.id != found.clause)) {
        let clause = assay_model::sanitise(&violation.clause, MAX_SHOWN_BYTES);
        return Some(format!("the violated clause {clause} is not one of the scenario's"));
    }
    let same = |own: &assay_scenario::Stage, found: &StageResult| {
        found.name == own.name && found.points.to_bits() == own.points.to_bits()
    };
    let stages_same =
        stages.len() == result.stages.len() && stages.iter().zip(&result.stages).all(|(own, found)| same(own, found));
    (!stages_same).then(|| "its stages are not the scenario's".to_owned())
}

/// Returns the result of an episode without a single step.
fn empty(scenario: &Scenario, episode: u32, seeds: EpisodeSeeds, error: EpisodeError) -> EpisodeResult {
    let clause = |clause: &assay_scenario::Clause| ClauseResult {
        id: clause.id.clone(),
        title: Some(clause.title.clone()),
        harm: Some(clause.harm),
        level: clause.level,
        standard: clause.standard.clone(),
        unit: clause.unit.clone(),
        limit: clause.limit,
        scale: Some(clause.scale),
        status: ClauseStatus::Undetermined,
        robustness: None,
        worst_value: None,
        best_margin: clause.best_margin(),
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
        chunk: None,
        video_path: None,
        log_path: None,
        log_type: None,
        trace_hash: None,
        world_sha256: None,
        judge: None,
        error: Some(error),
        evidence: Vec::new(),
        evidence_notes: Vec::new(),
        replaced_attempts: Vec::new(),
        unconfirmed: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::episode::tests::script;

    /// A change of a result, as a lane with another scenario would report it.
    type Change = fn(&mut EpisodeResult);

    /// The first was seen: a lane that read an older copy with a limit of 9 m.
    const CHANGES: [(&str, Change); 11] = [
        ("limit", |result| result.clauses[0].limit = 9.0),
        ("id", |result| result.clauses[0].id = "keep_out".into()),
        ("level", |result| {
            let other =
                result.clauses.iter().map(|clause| clause.level).find(|level| *level != result.clauses[0].level);
            result.clauses[0].level = other.unwrap_or(assay_model::Level::Warning);
        }),
        ("unit", |result| result.clauses[0].unit = "mm".into()),
        ("standard", |result| result.clauses[0].standard = "another".into()),
        ("scale", |result| result.clauses[0].scale = Some(100.0)),
        ("a clause less", |result| drop(result.clauses.pop())),
        ("a clause more", |result| result.clauses.push(result.clauses[0].clone())),
        ("the order", |result| result.clauses.reverse()),
        ("a stage's points", |result| result.stages[0].points += 1.0),
        ("a stage's name", |result| result.stages[0].name = "\u{1b}[31m".into()),
    ];

    #[test]
    fn a_result_with_other_clauses_or_stages_is_not_the_scenarios() {
        let scenario = script::scenario();
        let seeds = EpisodeSeeds { policy: 1, world: 2 };
        let result = without_steps(&scenario, 0, seeds);
        assert!(result.clauses.len() > 1 && !result.stages.is_empty());
        assert_eq!(differs_from(&scenario, &result), None);
        for (what, change) in CHANGES {
            let mut changed = result.clone();
            change(&mut changed);
            assert!(differs_from(&scenario, &changed).is_some(), "{what}");
        }
        let mut older = result;
        older.clauses[0].scale = None;
        assert_eq!(differs_from(&scenario, &older), None, "reports of older versions have no scale");
    }

    #[test]
    fn a_lane_with_another_formula_limit_or_file_is_named() {
        let own = script::scenario().for_lanes();
        type Change = fn(&mut assay_model::lane::LaneScenario);
        let changes: [(&str, Change); 4] = [
            ("the limit of clause ", |lane| lane.clauses[0].limit = 9.0),
            (" differs", |lane| lane.clauses[0].formula = "always (time >= 0)".into()),
            (" clauses, not ", |lane| drop(lane.clauses.pop())),
            ("its files have the digest ", |lane| lane.digest = assay_model::Sha256Digest::of(b"another")),
        ];
        assert_eq!(own.difference(&own), None);
        for (words, change) in changes {
            let mut lane = own.clone();
            change(&mut lane);
            let found = own.difference(&lane).unwrap();
            assert!(found.contains(words), "{found}");
        }
    }
}
