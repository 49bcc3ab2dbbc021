//! Audit of an episode that ran on another host: recomputes its result and its files from its trace, steps the world of
//! its seed under the first recorded action and, on request, under all of them. Runs in a separate jail, since the
//! trace is untrusted.

use std::fs;
use std::sync::Arc;

use assay_model::lane::{Audit, AuditJob, files};
use assay_model::{EpisodeResult, EpisodeStatus, Generator, Sha256Digest};
use assay_scenario::{Scenario, draw};
use assay_sim::CompiledScenario;

use crate::evidence;
use crate::load::LoadError;
use crate::recompute::recompute;
use crate::restep::restep;
use crate::{Places, Trace, TraceFileError};

/// The reason why an audit could not be done. None of them says anything about the episode.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The request cannot be read, or the answer cannot be written.
    #[error("could not read or write the audit's files")]
    Io(#[from] std::io::Error),
    /// The scenario cannot be used.
    #[error("the scenario can't be used: {0}")]
    Scenario(String),
}

/// Audits the episode of `audit.json` with its trace `recorded.parquet`, and writes `audited.json`.
///
/// # Errors
/// [`AuditError`]: the audit could not be done.
pub fn audit(places: &Places) -> Result<(), AuditError> {
    let job = fs::read(places.scratch.join(files::AUDIT_JOB))?;
    let job: AuditJob = serde_json::from_slice(&job).map_err(std::io::Error::other)?;
    let audited = match Trace::read(&places.scratch.join(files::RECORDED)) {
        Ok(trace) => audited(places, &job, &trace)?,
        Err(TraceFileError::Io(error)) => return Err(error.into()),
        Err(error) => problem(format!("its trace can't be read: {error}")),
    };
    let text = serde_json::to_vec(&audited).map_err(std::io::Error::other)?;
    Ok(fs::write(places.scratch.join(files::AUDITED), text)?)
}

fn audited(places: &Places, job: &AuditJob, trace: &Trace) -> Result<Audit, AuditError> {
    let unusable = |error: LoadError| AuditError::Scenario(error.to_string());
    let scenario = Scenario::load(&places.scenario, &places.robots).map_err(|error| unusable(error.into()))?;
    if let Some(wrong) = wrong_fact(&scenario, job, trace) {
        return Ok(problem(format!("its trace is of another episode: {wrong}")));
    }
    let result = match recompute(&scenario, trace, &job.claimed) {
        Ok(result) => result,
        Err(why) => return Ok(problem(why)),
    };
    let world_sha256 = draw(&scenario, &mut Generator::new(job.seeds.world)).ok().map(|d| scenario.world_sha256(&d));
    let result = EpisodeResult { world_sha256, ..result };
    let mut files = evidence::derived(&scenario, trace)?;
    // What the trace itself shows; only the physics show that they became unstable, and nothing shows a policy's error.
    let mut shows_end = job.claimed.status == EpisodeStatus::Completed;
    let mut comparison = None;
    if job.is_same_machine {
        let world = CompiledScenario::build(Arc::new(scenario)).map_err(|error| unusable(error.into()))?;
        let mut simulation = world.simulation(job.seeds.world).map_err(|error| unusable(error.into()))?;
        let start_state = simulation.integration_state().to_vec();
        match restep(world.scenario(), &mut simulation, trace, job) {
            Ok(restepped) => {
                shows_end |= restepped.is_unstable;
                comparison = Some(restepped.comparison);
            }
            Err(why) => return Ok(problem(why)),
        }
        files.extend(evidence::world(&simulation, &start_state));
    }
    let files = files.into_iter().map(|(name, bytes)| (name.to_owned(), Sha256Digest::of(&bytes))).collect();
    Ok(Audit { problem: None, result: Some(result), comparison, shows_end, files })
}

fn problem(problem: String) -> Audit {
    Audit { problem: Some(problem), result: None, comparison: None, shows_end: false, files: Vec::new() }
}

/// Returns the first fact of the trace that is not that of the episode.
fn wrong_fact(scenario: &Scenario, job: &AuditJob, trace: &Trace) -> Option<String> {
    let EpisodeResult { episode, seed, .. } = job.claimed;
    let expected = [
        ("scenario_digest", scenario.digest.to_string()),
        ("episode", episode.to_string()),
        ("policy_seed", job.seeds.policy.to_string()),
        ("world_seed", job.seeds.world.to_string()),
    ];
    if seed != job.seeds.policy {
        return Some(format!("seed {seed}"));
    }
    let mut keys: Vec<&str> = trace.facts.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("{} stands twice", twice[0]));
    }
    let wrong = expected.into_iter().find(|(key, value)| trace.fact(key) != Some(value.as_str()));
    wrong.map(|(key, _)| format!("{key} {}", trace.fact(key).unwrap_or("is missing")))
}
