//! Replays that a client of the service asks for: in this process, one at a time, for a limited time.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use assay_api::{ReplayFailure, Replayer};
use assay_model::lane::files;
use assay_model::{EpisodeResult, JobHeader, Record, SeedSource};
use assay_policy::{IntakeLimits, intake};
use assay_report::ReplayReport;
use assay_store::{BlobError, Blobs, JobRecord, Records, StoreError};
use assay_worker::{Cancel, Engine, EvaluationEvents, Job, PolicySource, ReplayError, SessionError, replay};
use async_trait::async_trait;
use futures_util::StreamExt;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Longest replay. What takes longer is for `assay replay`.
const LIMIT: Duration = Duration::from_secs(120);

/// Replays with the service's own engine.
#[derive(Debug)]
pub(crate) struct LocalReplayer {
    engine: Arc<Engine>,
    records: Arc<dyn Records>,
    blobs: Blobs,
    data: PathBuf,
    turn: Arc<Semaphore>,
}

/// Raises the flag when it goes out of scope: also when the client has gone and nobody waits any more.
struct Guard(Cancel);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[derive(Debug)]
struct Silent;

impl EvaluationEvents for Silent {
    fn progress(&self, _episode: u32, _step: u32, _of: u32) {}

    fn finished(&self, _result: &EpisodeResult) {}
}

impl LocalReplayer {
    pub(crate) fn new(engine: Arc<Engine>, records: Arc<dyn Records>, blobs: Blobs, data: PathBuf) -> Self {
        Self { engine, records, blobs, data, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Where the job's seeds came from; `None` if its season is gone.
    async fn seeds(&self, header: &JobHeader) -> Result<Option<SeedSource>, StoreError> {
        let Some(entry) = &header.arena else { return Ok(Some(SeedSource::Job(header.seed))) };
        let secrets = self.records.season_secrets(&header.scenario, entry.season).await?;
        let secret = secrets.and_then(|secrets| if entry.rerun { secrets.rerun } else { Some(secrets.season) });
        Ok(secret.map(|secret| SeedSource::Season { secret, episodes: header.plan.episodes }))
    }

    /// The recording, as a file of its own.
    async fn recording(&self, job: &JobRecord, episode: &EpisodeResult) -> Result<Option<TempDir>, BlobError> {
        let Some(trace) = episode.evidence.iter().find(|file| file.name.ends_with(files::TRACE)) else {
            return Ok(None);
        };
        let id = job.header.job_id;
        let size = match self.blobs.size(id, &trace.sha256).await {
            Err(BlobError::Missing) => return Ok(None),
            size => size?,
        };
        let folder = self.engine.scratch("recording")?;
        let mut file = tokio::fs::File::create(folder.path().join(files::TRACE)).await?;
        let mut pieces = self.blobs.read(id, &trace.sha256, 0..size).await?;
        while let Some(piece) = pieces.next().await {
            file.write_all(&piece?).await?;
        }
        file.flush().await?;
        Ok(Some(folder))
    }
}

#[async_trait]
impl Replayer for LocalReplayer {
    async fn replay(&self, job: JobRecord, episode: EpisodeResult) -> Result<ReplayReport, ReplayFailure> {
        let Ok(turn) = Arc::clone(&self.turn).try_acquire_owned() else {
            return Err(ReplayFailure::Unavailable("another replay is running; ask again".to_owned()));
        };
        let recording = self.recording(&job, &episode).await.map_err(|e| ReplayFailure::Broken(e.into()))?;
        let recording = recording.ok_or_else(|| refused("there is no recording of this episode (any more)"))?;
        let seeds = self.seeds(&job.header).await.map_err(|e| ReplayFailure::Broken(e.into()))?;
        let seeds = seeds.ok_or_else(|| refused("the season that the job belongs to is gone"))?;
        let cancel = Cancel::new();
        let _guard = Guard(cancel.clone());
        let (engine, data) = (Arc::clone(&self.engine), self.data.clone());
        let work =
            tokio::task::spawn_blocking(move || run(&engine, &data, (&job, seeds), &episode, recording, &cancel, turn));
        match tokio::time::timeout(LIMIT, work).await {
            Ok(done) => done.map_err(|e| ReplayFailure::Broken(e.into()))?,
            Err(_) => {
                let message = format!(
                    "the replay takes longer than {} s; run `assay replay` on the downloaded evidence",
                    LIMIT.as_secs()
                );
                Err(ReplayFailure::Unavailable(message))
            }
        }
    }
}

/// Takes `turn` with it: a replay whose client has gone is over only when its lane is.
fn run(
    engine: &Engine,
    data: &std::path::Path,
    (job, seeds): (&JobRecord, SeedSource),
    episode: &EpisodeResult,
    recording: TempDir,
    cancel: &Cancel,
    turn: OwnedSemaphorePermit,
) -> Result<ReplayReport, ReplayFailure> {
    let (header, broken) = (&job.header, |error: io::Error| ReplayFailure::Broken(error.into()));
    let Some(archive) = &job.policy_path else {
        return Err(refused("the job is of a policy server, which can't be run again"));
    };
    let scenario = engine.scenario(&header.scenario, &header.scenario_digest);
    let scenario = scenario.map_err(|gone| refused(&gone.to_string()))?;
    let work = engine.scratch("replayed").map_err(broken)?;
    let unpacked = work.path().join("policy");
    intake(&data.join(archive), &unpacked, &IntakeLimits::default()).map_err(|e| ReplayFailure::Broken(e.into()))?;
    let again = Job {
        scenario,
        policy: PolicySource::Folder(unpacked),
        seeds,
        record: Record::None,
        folder: None,
        max_episode_bytes: 0,
    };
    let outcome = replay(engine, again, episode, &recording.path().join(files::TRACE), cancel, &Silent);
    drop(turn);
    let outcome = outcome.map_err(failure)?;
    let then = job.conclusion().map(|(_, fingerprint)| fingerprint);
    Ok(ReplayReport {
        same: outcome.comparison.difference.is_none(),
        episode: episode.episode,
        recorded_trace_hash: episode.trace_hash.clone(),
        replayed_trace_hash: outcome.result.trace_hash,
        fingerprint_differences: then.map(|then| then.differences(engine.fingerprint())).unwrap_or_default(),
        comparison: outcome.comparison,
    })
}

fn refused(why: &str) -> ReplayFailure {
    ReplayFailure::Refused(why.to_owned())
}

fn failure(error: ReplayError) -> ReplayFailure {
    match error {
        ReplayError::Session(SessionError::Cancelled) => {
            ReplayFailure::Unavailable("the replay was stopped".to_owned())
        }
        ReplayError::Unreadable(why) => ReplayFailure::Refused(why),
        other => ReplayFailure::Broken(other.into()),
    }
}
