//! The dispatch of a server's own lanes: its records and its evidence, without a network between.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_model::{
    AccountId, Artifact, AssignedPolicy, Assignment, AttemptNote, Blame, EpisodeResult, Fence, JobHeader, JobId,
    SeedSource, ShardReturn, episode_share,
};
use assay_scenario::Scenario;
use assay_store::{
    ArchiveFile, EpisodeProgress, ExcludedShards, JobFailure, Lease, ModelFile, PolicyServerAccess, RecordOutcome,
    ReturnOutcome, ShardKind, ShardRequest, Work, WorkerCapabilities, seeds_of_job,
};
use jiff::SignedDuration;
use tempfile::TempDir;

use super::missing::Missing;
use super::options::ServiceOptions;
use super::packing;
use crate::shards::dispatch::{Dispatch, DispatchError};
use crate::{ScenarioGone, SessionError};

/// Claims shards from the records, and writes results to them.
#[derive(Debug)]
pub(crate) struct LocalDispatch {
    options: ServiceOptions,
    /// Scenario versions whose files are missing.
    missing: Missing,
    /// The worker's name in the records.
    name: String,
}

impl LocalDispatch {
    pub(super) fn new(options: ServiceOptions, name: String) -> Self {
        Self { options, missing: Missing::default(), name }
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.options.runtime.block_on(future)
    }

    /// Returns the source of a job's seeds. Only the season knows those of an arena entry.
    pub(super) fn seeds(&self, header: &JobHeader) -> Result<SeedSource, SessionError> {
        let Some(entry) = &header.arena else { return Ok(header.job_seeds()) };
        let records = &self.options.records;
        let internal = |why: String| SessionError::Internal(why.into());
        let gone = || internal(format!("season {} of {} is not in the records", entry.season, header.scenario));
        let season = self.wait(records.season(&header.scenario, Some(entry.season))).map_err(SessionError::of)?;
        let pinned = season.ok_or_else(gone)?.pins.fingerprint;
        let differences = pinned.differences(&self.options.engine.fingerprint_in(pinned.runtime.as_ref()));
        if let Some(difference) = differences.first() {
            let what = &difference.name;
            return Err(internal(format!(
                "season {} was opened with a different {what}; run its entries on a matching server",
                entry.season
            )));
        }
        self.wait(seeds_of_job(&**records, header)).map_err(SessionError::of)?.ok_or_else(gone)
    }

    /// Returns a claim as an assignment; one without seeds goes back to the queue.
    fn assignment(&self, claim: &assay_store::Claim) -> Result<Assignment, DispatchError> {
        let share = episode_share(self.options.max_evidence_bytes, claim.header.episodes_to_run());
        match self.seeds(&claim.header) {
            Ok(seeds) => Ok(claim.assignment(&seeds, share)),
            Err(SessionError::Outage(error)) => {
                let reason = error.to_string();
                self.give_back(claim.fence, ShardReturn::Postpone { pause_s: claim.fence.attempt.min(30), reason })?;
                Err(SessionError::Outage(error).into())
            }
            Err(error) => {
                let reason = error.to_string();
                tracing::error!(job.id = %claim.fence.job_id, reason, "shard failed");
                self.give_back(claim.fence, ShardReturn::Fail { reason })?;
                Err(error.into())
            }
        }
    }

    /// Returns the jobs whose policies are connected to other servers of the site.
    fn out_of_reach(&self, kind: ShardKind) -> Vec<ExcludedShards> {
        let jobs = match kind {
            ShardKind::Server => self.options.engine.remote().connected().out_of_reach(),
            ShardKind::Policy | ShardKind::Secret => BTreeSet::new(),
        };
        jobs.into_iter().map(|job| ExcludedShards { job, shard: None }).collect()
    }

    async fn job_header(&self, job: JobId) -> Result<assay_store::JobRecord, SessionError> {
        let found = self.options.records.job(None, job).await.map_err(SessionError::of)?;
        found.ok_or_else(|| SessionError::internal("the job is not in the records"))
    }
}

impl Dispatch for LocalDispatch {
    fn claim(
        &self,
        kind: ShardKind,
        excluded: &[AccountId],
        _wait: Duration,
    ) -> Result<Option<Assignment>, DispatchError> {
        let machine = Some(self.options.engine.fingerprint().clone());
        let capabilities = WorkerCapabilities { machine, ..WorkerCapabilities::everything() };
        let request = ShardRequest { capabilities, ..ShardRequest::new(&self.name) };
        let request = ShardRequest { excluded_shards: self.out_of_reach(kind), ..request };
        let request = request.of_kind(kind).excluding(excluded);
        let claim =
            self.wait(self.options.records.claim_shard(&request, self.options.clock.now(), self.options.lease))?;
        claim.map(|claim| self.assignment(&claim)).transpose()
    }

    fn wait_for_work(&self, limit: Duration) -> bool {
        // The hint's content does not matter: the records contain the work.
        self.wait(self.options.queue.next(limit)).is_some()
    }

    fn renew(&self, held: &[Fence]) -> Result<Vec<Fence>, DispatchError> {
        let mut lost = Vec::new();
        for fence in held {
            match self.wait(self.options.records.heartbeat(*fence, self.options.clock.now(), self.options.lease)) {
                Ok(Lease::Held) => {}
                Ok(Lease::Lost) => lost.push(*fence),
                Err(error) => error.log("could not renew lease"),
            }
        }
        Ok(lost)
    }

    fn scenario(&self, shard: &Assignment) -> Result<Arc<Scenario>, SessionError> {
        let scenario = self.options.engine.scenario(&shard.scenario, shard.scenario_digest);
        self.missing.note(shard, scenario.as_ref().err());
        scenario.map_err(|error| match error {
            // Missing files on this machine are not the author's fault.
            ScenarioGone::Missing(_) => SessionError::Outage(Box::new(error)),
            ScenarioGone::Changed(_) | ScenarioGone::Unfit { .. } => SessionError::Scenario(error.to_string()),
        })
    }

    fn archive(&self, shard: &Assignment) -> Result<ArchiveFile, SessionError> {
        let path = self.wait(self.job_header(shard.fence.job_id))?.policy_path;
        let path = path.ok_or_else(|| SessionError::internal("the job has no archive"))?;
        self.wait(self.options.archives.open(&path)).map_err(SessionError::of)
    }

    fn models(&self, shard: &Assignment) -> Result<Vec<ModelFile>, SessionError> {
        let AssignedPolicy::Archive { models, .. } = &shard.policy else { return Ok(Vec::new()) };
        // A job keeps its models, so a missing one is this machine's fault, not the author's.
        let found = self.options.models.resolve(&shard.account, models);
        found.map_err(|error| SessionError::Outage(Box::new(error)))
    }

    fn server(&self, shard: &Assignment) -> Result<PolicyServerAccess, SessionError> {
        let access = self.options.servers.get(shard.fence.job_id).map_err(SessionError::of)?;
        access.ok_or_else(|| SessionError::internal("the address of the policy server is not stored"))
    }

    fn evidence_folder(&self) -> io::Result<TempDir> {
        self.options.blobs.incoming()
    }

    fn storage_root(&self) -> &Path {
        self.options.blobs.root()
    }

    fn keep(&self, fence: Fence, file: &Artifact, path: &Path) -> Result<(), DispatchError> {
        Ok(self.wait(self.options.blobs.put(fence.job_id, file.sha256, path))?)
    }

    fn record(&self, fence: Fence, result: &EpisodeResult) -> Result<RecordOutcome, DispatchError> {
        if !result.evidence.is_empty() {
            self.wait(self.options.blobs.settle(fence.job_id))?;
        }
        Ok(self.wait(self.options.records.record_episode(fence, result.clone(), self.options.clock.now()))?)
    }

    fn recorded(&self, fence: Fence, result: &EpisodeResult, outcome: RecordOutcome) {
        match outcome {
            // Its evidence is packed after the conclusion, which has priority.
            RecordOutcome::New { left_in_job: 0, .. } => {
                self.wait(self.options.queue.publish(Work::Conclusion { job_id: fence.job_id }));
            }
            _ => packing::pack(&self.options, fence.job_id, [result]),
        }
    }

    fn note(&self, fence: Fence, note: &AttemptNote) -> Result<Lease, DispatchError> {
        Ok(self.wait(self.options.records.note_attempt(fence, note.clone()))?)
    }

    fn give_back(&self, fence: Fence, how: ShardReturn) -> Result<(), DispatchError> {
        let (records, now) = (&self.options.records, self.options.clock.now());
        match how {
            ShardReturn::Release => {
                self.wait(records.release_shard(fence))?;
            }
            ShardReturn::Scenario { message } => {
                let failure = JobFailure { blame: Blame::Scenario, message };
                self.wait(records.fail_job(fence.job_id, failure, now))?;
            }
            ShardReturn::Postpone { pause_s, reason } => {
                let again = now.saturating_add(SignedDuration::from_secs(pause_s.into())).unwrap_or(now);
                tracing::debug!(shard = fence.shard, reason, %again, "shard postponed");
                self.wait(records.postpone_shard(fence, again, &reason))?;
            }
            ShardReturn::Fail { reason } => {
                if self.wait(records.fail_shard(fence, &reason, now))? == ReturnOutcome::Requeued {
                    let work = Work::Shard { job_id: fence.job_id, shard: fence.shard };
                    self.wait(self.options.queue.publish(work));
                }
            }
        }
        Ok(())
    }

    fn progress(&self, job: JobId, progress: EpisodeProgress) {
        self.options.live.report(job, progress);
    }

    fn ended(&self, job: JobId, episode: u32) {
        self.options.live.end(job, episode);
    }

    fn released(&self, _fence: Fence) {}

    fn storage_health(&self, shard: &Assignment, problem: Option<&str>) {
        match problem {
            None => self.options.health.files_work(),
            // Logged already.
            Some(_) if self.missing.has(shard.scenario_digest) => {}
            Some(problem) => self.options.health.files_failed(problem),
        }
    }
}
