//! Audits the episodes of workers on other hosts with this machine's lanes.

use std::error::Error;
use std::sync::Arc;

use assay_api::{AuditFinding, EpisodeAuditor, EpisodeToAudit};
use assay_worker::{AuditOutcome, Engine, ReportedEpisode, audit};

/// Audits in jails of the engine.
#[derive(Debug)]
pub(super) struct EngineAuditor(pub(super) Arc<Engine>);

impl EpisodeAuditor for EngineAuditor {
    fn audit(&self, episode: &EpisodeToAudit) -> Result<AuditFinding, Box<dyn Error + Send + Sync>> {
        let scenario = self.0.scenario(&episode.scenario, episode.scenario_digest)?;
        let reported = ReportedEpisode {
            scenario: &scenario,
            seeds: episode.seeds,
            claimed: &episode.claimed,
            claim: episode.claim,
            notes: &episode.notes,
            trace: episode.trace.as_deref(),
            is_same_machine: episode.is_same_machine,
        };
        Ok(match audit(&self.0, reported, episode.restep)? {
            AuditOutcome::Confirmed { result, shows_end } => AuditFinding::Confirmed { result, shows_end },
            AuditOutcome::Refuted(problem) => AuditFinding::Refuted(problem),
        })
    }
}
