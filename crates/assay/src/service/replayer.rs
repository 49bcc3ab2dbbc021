//! Replays requested by clients of the service. They run in this process, with limits on their number and duration.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use assay_api::{ReplayFailure, Replayer};
use assay_jail::LEAST_SHARE;
use assay_model::lane::files;
use assay_model::{AccountId, EpisodeResult, Record, RuntimeVersion, SeedSource};
use assay_policy::{IntakeLimits, PolicyHome, intake};
use assay_report::ReplayReport;
use assay_store::{
    ArchiveFile, ArchiveFileError, ArchiveFiles, BlobError, Blobs, JobRecord, ModelFileError, ModelFiles, Records,
    seeds_of_job,
};
use assay_worker::{
    Cancel, Engine, EvaluationEvents, Job, PolicyFolder, PolicySource, ReplayError, ReplayOptions, SERVED_REPLAY,
    SessionError, replay,
};
use async_trait::async_trait;
use futures_util::StreamExt;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

/// Maximum number of concurrent replays, each of a different account. Each takes a processor from the lanes.
const MAX_REPLAYS: usize = 2;

/// Replays with the service's own engine.
#[derive(Debug)]
pub(crate) struct LocalReplayer {
    pub(super) engine: Arc<Engine>,
    pub(super) records: Arc<dyn Records>,
    blobs: Blobs,
    archives: ArchiveFiles,
    models: ModelFiles,
    pub(super) slots: Arc<ReplaySlots>,
}

/// Accounts whose jobs are being replayed. Each has at most one replay, so that one account can't take all slots.
#[derive(Debug, Default)]
pub(super) struct ReplaySlots(Mutex<BTreeSet<AccountId>>);

impl ReplaySlots {
    pub(super) fn take(self: &Arc<Self>, account: &AccountId) -> Result<ReplaySlot, ReplayFailure> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if running.contains(account) {
            return Err(ReplayFailure::Unavailable(
                "another replay of this account is running; try again later".to_owned(),
            ));
        }
        if running.len() >= MAX_REPLAYS {
            return Err(ReplayFailure::Unavailable("too many replays are running; try again later".to_owned()));
        }
        running.insert(account.clone());
        Ok(ReplaySlot(Arc::clone(self), account.clone()))
    }
}

/// The slot of a running replay, which is freed on drop.
#[derive(Debug)]
pub(super) struct ReplaySlot(Arc<ReplaySlots>, AccountId);

impl Drop for ReplaySlot {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// Sets the cancel flag on drop, which also happens when the client disconnects.
pub(super) struct CancelOnDrop(pub(super) Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Discards all events.
#[derive(Debug)]
struct NoEvents;

impl EvaluationEvents for NoEvents {
    fn progress(&self, _episode: u32, _step: u32, _of: u32) {}

    fn finished(&self, _result: &EpisodeResult) {}
}

impl LocalReplayer {
    pub(crate) fn new(
        engine: Arc<Engine>,
        records: Arc<dyn Records>,
        blobs: Blobs,
        (archives, models): (ArchiveFiles, ModelFiles),
    ) -> Self {
        Self { engine, records, blobs, archives, models, slots: Arc::default() }
    }

    /// Copies the recording to a file in a temporary folder, or returns `None` if it does not exist.
    pub(super) async fn recording(
        &self,
        job: &JobRecord,
        episode: &EpisodeResult,
    ) -> Result<Option<TempDir>, BlobError> {
        let Some(trace) = episode.evidence.iter().find(|file| file.name.ends_with(files::TRACE)) else {
            return Ok(None);
        };
        let id = job.header.job_id;
        let size = match self.blobs.size(id, trace.sha256).await {
            Err(BlobError::Missing) => return Ok(None),
            size => size?,
        };
        let folder = self.engine.scratch("recording")?;
        let mut file = tokio::fs::File::create(folder.path().join(files::TRACE)).await?;
        let mut pieces = self.blobs.read(id, trace.sha256, 0..size).await?;
        while let Some(piece) = pieces.next().await {
            file.write_all(&piece?).await?;
        }
        file.flush().await?;
        Ok(Some(folder))
    }

    pub(super) async fn archive(&self, job: &JobRecord) -> Result<ArchiveFile, ReplayFailure> {
        self.archives.open(archive_of(job)?).await.map_err(|error| match error {
            ArchiveFileError::Missing => refused("the archive of the policy was deleted"),
            other => ReplayFailure::Broken(other.into()),
        })
    }
}

#[async_trait]
impl Replayer for LocalReplayer {
    async fn replay(&self, job: JobRecord, episode: EpisodeResult) -> Result<ReplayReport, ReplayFailure> {
        let slot = self.slots.take(&job.account)?;
        let recording = self.recording(&job, &episode).await.map_err(|e| ReplayFailure::Broken(e.into()))?;
        let recording = recording.ok_or_else(|| refused("there is no recording of this episode, or it was removed"))?;
        let seeds = seeds_of_job(&*self.records, &job.header).await.map_err(|e| ReplayFailure::Broken(e.into()))?;
        let seeds = seeds.ok_or_else(|| refused("the season that the job belongs to was removed"))?;
        let cancel = Cancel::new();
        let _guard = CancelOnDrop(cancel.clone());
        let archive = self.archive(&job).await?;
        let (engine, models) = (Arc::clone(&self.engine), self.models.clone());
        let work = tokio::task::spawn_blocking(move || {
            let trace = recording.path().join(files::TRACE);
            let files = ReplayFiles { archive: archive.path(), models: &models, recording: &trace };
            let options = ReplayOptions { cancel: &cancel, work_limit: Some(SERVED_REPLAY) };
            let report = replay_episode(&engine, &files, (&job, seeds), &episode, options);
            // If the client disconnects, the slot stays taken until the lane has ended.
            drop(slot);
            report
        });
        match tokio::time::timeout(SERVED_REPLAY * LEAST_SHARE, work).await {
            Ok(done) => done.map_err(|e| ReplayFailure::Broken(e.into()))?,
            Err(_) => Err(ReplayFailure::Unavailable(takes_too_long())),
        }
    }
}

/// The files of a replay.
pub(crate) struct ReplayFiles<'a> {
    pub(crate) archive: &'a Path,
    pub(crate) models: &'a ModelFiles,
    pub(crate) recording: &'a Path,
}

/// Returns the path of the archive of the job's policy.
pub(crate) fn archive_of(job: &JobRecord) -> Result<&str, ReplayFailure> {
    let path = job.policy_path.as_deref();
    path.ok_or_else(|| refused("the job evaluated a policy server, which can't be replayed"))
}

/// Runs an episode of a job again, with these files, and compares it with its recording.
pub(crate) fn replay_episode(
    engine: &Engine,
    files: &ReplayFiles<'_>,
    (job, seeds): (&JobRecord, SeedSource),
    episode: &EpisodeResult,
    options: ReplayOptions<'_>,
) -> Result<ReplayReport, ReplayFailure> {
    let (header, broken) = (&job.header, |error: io::Error| ReplayFailure::Broken(error.into()));
    let scenario = engine.scenario(&header.scenario, header.scenario_digest);
    let scenario = scenario.map_err(|gone| refused(&gone.to_string()))?;
    let runtime = header.runtime.clone();
    runtime_is_installed(engine, runtime.as_ref())?;
    let home = home(engine, files.models, job)?;
    let work = engine.scratch("replayed").map_err(broken)?;
    let unpacked = work.path().join("policy");
    intake(files.archive, &unpacked, &IntakeLimits::accepted()).map_err(|e| ReplayFailure::Broken(e.into()))?;
    let repeated = Job {
        scenario,
        policy: PolicySource::Folder(PolicyFolder { path: unpacked, runtime, home }),
        seeds,
        record: Record::None,
        folder: None,
        max_episode_bytes: 0,
        max_observation_bytes: None,
    };
    let outcome = replay(engine, repeated, episode, files.recording, options, &NoEvents).map_err(failure)?;
    let recorded_fingerprint = job.conclusion().map(|(_, fingerprint)| fingerprint);
    Ok(ReplayReport {
        same: outcome.comparison.difference.is_none(),
        episode: episode.episode,
        recorded_trace_hash: episode.trace_hash,
        replayed_trace_hash: outcome.result.trace_hash,
        fingerprint_differences: recorded_fingerprint
            .map(|fingerprint| fingerprint.differences(&engine.fingerprint_of(engine.fingerprint(), header)))
            .unwrap_or_default(),
        comparison: outcome.comparison,
    })
}

/// Returns the home of the job's policy, with its models.
fn home(engine: &Engine, models: &ModelFiles, job: &JobRecord) -> Result<PolicyHome, ReplayFailure> {
    let found = models.resolve(&job.account, &job.header.models);
    let found = found.map_err(|error| match error {
        ModelFileError::Missing(_) => refused("a model of the policy was deleted"),
        ModelFileError::Io(error) => ReplayFailure::Broken(error.into()),
    })?;
    engine.policy_home(&found).map_err(|error| ReplayFailure::Broken(error.into()))
}

/// Refuses a replay whose policy ran in a runtime that is not installed: another one would be another experiment.
fn runtime_is_installed(engine: &Engine, runtime: Option<&RuntimeVersion>) -> Result<(), ReplayFailure> {
    runtime.map_or(Ok(()), |version| {
        engine.runtimes().version(version).map(drop).map_err(|gone| refused(&gone.to_string()))
    })
}

pub(super) fn refused(why: &str) -> ReplayFailure {
    ReplayFailure::Refused(why.to_owned())
}

fn takes_too_long() -> String {
    format!(
        "the replay takes longer than {} s of CPU time and of the policy's sleep; run `assay replay` on the downloaded \
         evidence",
        SERVED_REPLAY.as_secs()
    )
}

fn failure(error: ReplayError) -> ReplayFailure {
    match error {
        ReplayError::Session(SessionError::Cancelled) => {
            ReplayFailure::Unavailable("the replay was stopped".to_owned())
        }
        ReplayError::Session(SessionError::OverWorkLimit) => ReplayFailure::Unavailable(takes_too_long()),
        ReplayError::Unreadable(why) => ReplayFailure::Refused(why),
        other => ReplayFailure::Broken(other.into()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn each_account_has_one_slot() {
        let slots: Arc<ReplaySlots> = Arc::default();
        let account = |name: &str| -> AccountId { name.parse().unwrap() };
        let refused = |name: &str| slots.take(&account(name)).is_err();
        let first = slots.take(&account("first")).unwrap();
        assert!(refused("first"), "one per account");
        let second = slots.take(&account("second")).unwrap();
        assert!(refused("third"), "two in total");
        drop(first);
        assert!(refused("second"));
        drop((slots.take(&account("third")).unwrap(), second));
    }
}
