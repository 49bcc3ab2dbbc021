//! Audit of the episodes that workers on other hosts report: their results are recomputed from their traces, and for
//! some of them, the physics is run again here under the recorded actions.

use std::fs;
use std::io;
use std::path::Path;

use assay_jail::give_to_jail;
use assay_model::lane::{Audit, AuditJob, files};
use assay_model::{AttemptNote, EpisodeResult, EpisodeSeeds, EpisodeStatus, Sha256Digest, Termination};
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
    /// Number of the claim that it ran under.
    pub claim: u32,
    /// The facts about earlier attempts, and about this one, that the records contain.
    pub notes: &'a [AttemptNote],
    /// The trace that the result lists; `None` if it lists none.
    pub trace: Option<&'a Path>,
    /// True if the host computes the same bits as this one.
    pub is_same_machine: bool,
}

/// The outcome of an audit.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditOutcome {
    /// The result follows from the trace and, if it was stepped again, the trace from its actions.
    Confirmed {
        /// The result as it is to be recorded: what only an untrusted worker vouches for decides nothing in it.
        result: Box<EpisodeResult>,
        /// True if trace or physics also show why the episode ended.
        shows_end: bool,
    },
    /// The result does not follow, for this reason.
    Refuted(String),
}

/// Audits a reported episode; with `restep`, also runs its physics again. Blocks for some milliseconds of CPU time, or
/// for as long as the physics take.
///
/// # Errors
/// [`SessionError`]: the audit could not be done, which says nothing about the episode.
pub fn audit(engine: &Engine, reported: ReportedEpisode<'_>, restep: bool) -> Result<AuditOutcome, SessionError> {
    let claimed = reported.claimed;
    // The scenario that this process read: the lane that audits reads a copy of its own.
    if let Some(difference) = results::differs_from(reported.scenario, claimed) {
        return Ok(AuditOutcome::Refuted(difference));
    }
    let followed = match reported.trace {
        None => without_trace(reported).map(|result| (result, false)),
        Some(trace) => with_trace(engine, reported, trace, restep)?,
    };
    let (recomputed, shows_end) = match followed {
        Ok(followed) => followed,
        Err(problem) => return Ok(AuditOutcome::Refuted(problem)),
    };
    let clauses = &reported.scenario.clauses;
    let (weights, scales): (Vec<f64>, Vec<f64>) = clauses.iter().map(|c| (c.weight, c.scale)).unzip();
    if let Some(clause) = unshown_violation(reported, &recomputed) {
        let problem = format!("it reported a violation of clause {clause}, which its trace does not show");
        return Ok(AuditOutcome::Refuted(problem));
    }
    // Its worker treats all violations of earlier attempts alike.
    let told: Vec<AttemptNote> = reported.notes.iter().map(AttemptNote::without_origin).collect();
    let expected = recomputed.clone().with_notes(&told, &weights, &scales);
    if let Some(part) = difference(&expected, claimed) {
        return Ok(AuditOutcome::Refuted(format!("{part} does not follow from its trace")));
    }
    let result = match reported.notes.iter().any(|note| matches!(note, AttemptNote::Violated { origin: Some(_), .. })) {
        true => with_origins(recomputed, reported, &weights, &scales),
        false => claimed.clone(),
    };
    Ok(AuditOutcome::Confirmed { result: Box::new(result), shows_end })
}

/// Returns the clause of a violation that the worker reported in this very attempt, if the trace does not show it.
fn unshown_violation(reported: ReportedEpisode<'_>, recomputed: &EpisodeResult) -> Option<String> {
    reported.trace?;
    // Whatever happened before the last replacement belongs to another attempt.
    let last = reported.notes.iter().rposition(|note| note.replaced().is_some()).map_or(0, |place| place + 1);
    let shows = |clause: &str| recomputed.violations.iter().any(|violation| violation.clause == clause);
    let unshown = reported.notes[last..].iter().find_map(|note| match note {
        AttemptNote::Violated { violation, origin: Some(origin), .. } => {
            (origin.claim == reported.claim && !shows(&violation.clause)).then_some(&violation.clause)
        }
        _ => None,
    });
    unshown.cloned()
}

/// Returns the recomputed result with the violations of its notes, each with the weight of its witness.
fn with_origins(
    recomputed: EpisodeResult,
    reported: ReportedEpisode<'_>,
    weights: &[f64],
    scales: &[f64],
) -> EpisodeResult {
    let violated = reported.notes.iter().filter(|note| matches!(note, AttemptNote::Violated { .. }));
    let mut result = recomputed.with_notes(&violated.cloned().collect::<Vec<_>>(), weights, scales);
    for violation in &mut result.violations {
        let same = reported.claimed.violations.iter().find(|claimed| {
            claimed.clause == violation.clause && claimed.start_s.to_bits() == violation.start_s.to_bits()
        });
        violation.involved = same.map(|claimed| claimed.involved.clone()).unwrap_or_default();
    }
    result
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
) -> Result<Result<(EpisodeResult, bool), String>, SessionError> {
    let inputs = engine.scratch("audit").map_err(SessionError::of)?;
    let ReportedEpisode { claimed, seeds, is_same_machine, .. } = reported;
    let job = AuditJob { claimed: claimed.clone(), seeds, is_same_machine, restep };
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
    let Audit { shows_end, files, .. } = &audit;
    let (shows_end, differs) = (*shows_end, differing_file(claimed, files));
    Ok(match (audit.problem, audit.result, audit.comparison.and_then(|comparison| comparison.difference)) {
        (Some(problem), _, _) => Err(problem),
        (None, _, Some(difference)) => Err(format!(
            "its physics differ from the recorded actions' at control step {}: {}",
            difference.control_step, difference.quantity
        )),
        (None, Some(_), None) if differs.is_some() => {
            Err(format!("its {} is not that of its trace and its world", differs.unwrap_or_default()))
        }
        (None, Some(result), None) => Ok((result, shows_end)),
        (None, None, None) => return Err(SessionError::internal("the audit has no result")),
    })
}

/// Returns the first of the recomputed `files` that the result lists with different content.
fn differing_file(claimed: &EpisodeResult, files: &[(String, Sha256Digest)]) -> Option<String> {
    let inside = evidence::folder_of(claimed.episode);
    let differs = |(name, sha256): &&(String, Sha256Digest)| {
        let path = format!("{inside}/{name}");
        claimed.evidence.iter().all(|file| file.name != path || file.sha256 != *sha256)
    };
    files.iter().find(differs).map(|(name, _)| name.clone())
}

/// Returns the claimed result with facts that workers of earlier versions do not report.
fn with_facts_of(expected: &EpisodeResult, claimed: &EpisodeResult) -> EpisodeResult {
    let mut claimed = claimed.clone();
    for (clause, own) in claimed.clauses.iter_mut().zip(&expected.clauses) {
        if clause.title.is_none() && clause.harm.is_none() {
            (clause.title, clause.harm, clause.best_margin) = (own.title.clone(), own.harm, own.best_margin);
        }
    }
    for (violation, own) in claimed.violations.iter_mut().zip(&expected.violations) {
        if violation.peak_s.is_none() && violation.onset_value.is_none() {
            (violation.peak_s, violation.onset_value) = (own.peak_s, own.onset_value);
        }
    }
    claimed
}

/// Returns the first part of `claimed` that differs from `expected`, apart from what a trace cannot show.
fn difference(expected: &EpisodeResult, claimed: &EpisodeResult) -> Option<&'static str> {
    let claimed = &with_facts_of(expected, claimed);
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
        // Workers of earlier versions say nothing about it.
        ("its world", claimed.world_sha256.is_none() || expected.world_sha256 == claimed.world_sha256),
    ];
    parts.into_iter().find(|(_, same)| !same).map(|(part, _)| part)
}
