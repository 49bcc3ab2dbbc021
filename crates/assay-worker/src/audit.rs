//! Audit of the episodes that workers on other hosts report: their results are recomputed from their traces, and of
//! some the physics runs again here under the recorded actions.

use std::fs;
use std::io;
use std::path::Path;

use assay_jail::give_to_jail;
use assay_model::lane::{Audit, AuditJob, files};
use assay_model::{AttemptNote, EpisodeResult, EpisodeSeeds, EpisodeStatus, Termination};
use assay_scenario::Scenario;

use crate::episode::evidence;
use crate::episode::results;
use crate::rendering::video::{self, RendererError};
use crate::{Cancel, Engine, SessionError};

/// Maximum size of an audit's answer, in bytes.
const ANSWER_BYTES: u64 = 4 << 20;

/// An episode that another host reported.
#[derive(Debug, Clone, Copy)]
pub struct ReportedEpisode<'a> {
    /// Its scenario.
    pub scenario: &'a Scenario,
    /// Its seeds.
    pub seeds: EpisodeSeeds,
    /// The result as reported.
    pub claimed: &'a EpisodeResult,
    /// The facts about earlier attempts, and about this one, that the records contain.
    pub notes: &'a [AttemptNote],
    /// The trace that the result lists; `None` if it lists none.
    pub trace: Option<&'a Path>,
}

/// The outcome of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditOutcome {
    /// The result follows from the trace and, if it was stepped again, the trace from its actions.
    Confirmed,
    /// It does not, for this reason.
    Refuted(String),
}

/// Audits a reported episode; with `restep`, also runs its physics again. Blocks for some milliseconds of CPU time, or
/// for as long as the physics take.
///
/// # Errors
/// [`SessionError`]: the audit could not be done, which says nothing about the episode.
pub fn audit(engine: &Engine, reported: ReportedEpisode<'_>, restep: bool) -> Result<AuditOutcome, SessionError> {
    let claimed = reported.claimed;
    let recomputed = match reported.trace {
        None => without_trace(reported),
        Some(trace) => with_trace(engine, reported, trace, restep)?,
    };
    Ok(match recomputed {
        Err(problem) => AuditOutcome::Refuted(problem),
        Ok(recomputed) => {
            let clauses = &reported.scenario.clauses;
            let (weights, scales): (Vec<f64>, Vec<f64>) = clauses.iter().map(|c| (c.weight, c.scale)).unzip();
            let expected = recomputed.with_notes(reported.notes, &weights, &scales);
            match difference(&expected, claimed) {
                None => AuditOutcome::Confirmed,
                Some(field) => AuditOutcome::Refuted(format!("{field} does not follow from its trace")),
            }
        }
    })
}

/// Returns the result of an episode without a step, with the claimed error, and the claimed trace hash: that of the
/// world's start, if the policy received an observation.
fn without_trace(reported: ReportedEpisode<'_>) -> Result<EpisodeResult, String> {
    let claimed = reported.claimed;
    let ends_so = matches!(
        (claimed.status, claimed.termination),
        (EpisodeStatus::PolicyError, Termination::PolicyError)
            | (EpisodeStatus::PolicyTimeout, Termination::PolicyTimeout)
            | (EpisodeStatus::Invalid, Termination::Unstable)
    );
    if claimed.steps > 0 || !ends_so || claimed.error.is_none() {
        return Err("it has no trace, and is not that of an episode without a step".to_owned());
    }
    let empty = results::without_steps(reported.scenario, claimed.episode, reported.seeds);
    Ok(EpisodeResult {
        clauses: empty.clauses,
        stages: empty.stages,
        violations: Vec::new(),
        success: false,
        progress_score: 0.0,
        safety_score: 0.0,
        composite_score: 0.0,
        sim_time_s: 0.0,
        unsafe_time_s: 0.0,
        seed: reported.seeds.policy,
        ..claimed.clone()
    })
}

fn with_trace(
    engine: &Engine,
    reported: ReportedEpisode<'_>,
    trace: &Path,
    restep: bool,
) -> Result<Result<EpisodeResult, String>, SessionError> {
    let inputs = engine.scratch("audit").map_err(SessionError::of)?;
    let job = AuditJob { claimed: reported.claimed.clone(), seeds: reported.seeds, restep };
    let write = || {
        fs::copy(trace, inputs.path().join(files::RECORDED))?;
        fs::write(inputs.path().join(files::AUDIT_JOB), serde_json::to_vec(&job)?)?;
        give_to_jail(inputs.path())
    };
    write().map_err(SessionError::of)?;
    let staged = engine.staged(reported.scenario).map_err(SessionError::of)?;
    let audited = video::finish(engine, "audit", &staged, inputs.path(), &Cancel::new());
    match audited {
        // Whatever ends the process is due to the trace, or to this machine; the caller tries again or on another host.
        Err(error @ RendererError::Failed(_)) => return Err(SessionError::Internal(Box::new(error))),
        Err(error) => return Err(SessionError::of(error)),
        Ok(()) => {}
    }
    let answer = evidence::read(inputs.path(), files::AUDITED, ANSWER_BYTES).map_err(SessionError::of)?;
    let audit: Audit = serde_json::from_slice(&answer).map_err(|error| SessionError::of(io::Error::other(error)))?;
    Ok(match (audit.problem, audit.result, audit.comparison.and_then(|comparison| comparison.difference)) {
        (Some(problem), _, _) => Err(problem),
        (None, _, Some(difference)) => Err(format!(
            "its physics differ from the recorded actions' at control step {}: {}",
            difference.control_step, difference.quantity
        )),
        (None, Some(result), None) => Ok(result),
        (None, None, None) => return Err(SessionError::internal("the audit has no result")),
    })
}

/// Returns the first part of `claimed` that differs from `expected`, apart from what a trace cannot show.
fn difference(expected: &EpisodeResult, claimed: &EpisodeResult) -> Option<&'static str> {
    let plain = |result: &EpisodeResult| {
        let mut violations = result.violations.clone();
        violations.iter_mut().for_each(|violation| violation.involved.clear());
        violations
    };
    let parts = [
        ("its seed", expected.seed == claimed.seed),
        ("the list of clauses", expected.clauses == claimed.clauses),
        ("the list of violations", plain(expected) == plain(claimed)),
        ("the list of stages", expected.stages == claimed.stages),
        ("its success", expected.success == claimed.success),
        ("its simulated time", expected.sim_time_s.to_bits() == claimed.sim_time_s.to_bits()),
        ("its unsafe time", expected.unsafe_time_s.to_bits() == claimed.unsafe_time_s.to_bits()),
        ("its progress score", expected.progress_score.to_bits() == claimed.progress_score.to_bits()),
        ("its safety score", expected.safety_score.to_bits() == claimed.safety_score.to_bits()),
        ("its composite score", expected.composite_score.to_bits() == claimed.composite_score.to_bits()),
        ("its trace hash", expected.trace_hash == claimed.trace_hash),
    ];
    parts.into_iter().find(|(_, same)| !same).map(|(part, _)| part)
}
