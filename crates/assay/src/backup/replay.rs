//! Replay of an episode from a backup, which shows that its policy, recording, scenario and records belong together.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use assay_api::{ReplayFailure, Replayer};
use assay_model::lane::files::TRACE;
use assay_model::{EpisodeResult, JobId, JobStatus};
use assay_report::ReplayReport;
use assay_store::{Blobs, JobFilter, JobRecord, ModelFiles, Records, ScenarioFiles, SqliteRecords, seeds_of_job};
use assay_worker::{Cancel, Engine, ReplayOptions};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{BLOBS, SCENARIOS};
use crate::service::replayer::{self, ReplayFiles};

/// Number of jobs that are considered, newest first.
const MAX_JOBS: u32 = 100;

/// An episode that was replayed.
#[derive(Debug)]
pub(crate) struct Replayed {
    /// The job of the episode.
    pub(crate) job: JobId,
    /// The result of the replay.
    pub(crate) report: ReplayReport,
}

impl Replayed {
    /// Returns the result in a line.
    pub(crate) fn summary(&self) -> String {
        let Self { job, report } = self;
        if report.same {
            return format!("episode {} of job {job}: bit-identical", report.episode);
        }
        let names: Vec<&str> = report.fingerprint_differences.iter().map(|part| part.name.as_str()).collect();
        let why = if names.is_empty() {
            String::new()
        } else {
            format!("; different from the recording machine: {}", names.join(", "))
        };
        format!("episode {} of job {job}: DIFFERENT{why}", report.episode)
    }

    /// Returns the result as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({ "job_id": self.job, "episode": self.report.episode, "same": self.report.same })
    }

    /// Returns the problem if the replay contradicts the recording. A different result on a different machine is
    /// expected, and not a problem.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let unexplained = !self.report.same && self.report.fingerprint_differences.is_empty();
        unexplained.then(|| format!("the replay of job {} differs from its recording", self.job))
    }
}

fn error_of(failure: ReplayFailure) -> anyhow::Error {
    match failure {
        ReplayFailure::Refused(why) | ReplayFailure::Unavailable(why) => anyhow!(why),
        broken @ ReplayFailure::Broken(_) => anyhow!(broken),
    }
}

/// An episode that can be replayed.
#[derive(Debug)]
pub(crate) struct Replayable {
    job: JobRecord,
    episode: EpisodeResult,
}

impl Replayable {
    /// Returns an episode of the newest job whose policy and recording are kept, or `None` if there is no such job.
    pub(crate) fn newest(records: &dyn Records, runtime: &Runtime) -> anyhow::Result<Option<Self>> {
        let filter = JobFilter { status: Some(JobStatus::Completed), limit: MAX_JOBS, ..JobFilter::default() };
        let (jobs, _) = runtime.block_on(records.jobs(&filter))?;
        for job in jobs {
            if job.policy_path.is_none() || job.removed.policy_at.is_some() || job.removed.evidence_at.is_some() {
                continue;
            }
            let episodes = runtime.block_on(records.episodes(job.header.job_id, 0, 1))?;
            let recorded = |episode: &EpisodeResult| episode.evidence.iter().any(|file| file.name.ends_with(TRACE));
            if let Some(episode) = episodes.into_iter().find(recorded) {
                return Ok(Some(Self { job, episode }));
            }
        }
        Ok(None)
    }

    /// Replays the episode with the files of a service.
    pub(crate) fn replay_with(self, replayer: &dyn Replayer, runtime: &Runtime) -> anyhow::Result<Replayed> {
        let id = self.job.header.job_id;
        let report = runtime.block_on(replayer.replay(self.job, self.episode)).map_err(error_of)?;
        Ok(Replayed { job: id, report })
    }

    /// Replays the episode from the files of the backup in `folder`.
    pub(crate) fn replay(
        self,
        folder: &Path,
        records: &SqliteRecords,
        engine: Engine,
        runtime: &Runtime,
        cancel: &Cancel,
    ) -> anyhow::Result<Replayed> {
        let id = self.job.header.job_id;
        let versions = folder.join(SCENARIOS);
        let engine = if versions.is_dir() { engine.with_versions(ScenarioFiles::folder(&versions)?) } else { engine };
        let seeds = runtime.block_on(seeds_of_job(records, &self.job.header))?;
        let seeds = seeds.ok_or_else(|| anyhow!("the season that job {id} belongs to was removed"))?;
        let scratch = engine.scratch("recording")?;
        let trace = scratch.path().join(TRACE);
        self.write_recording(&folder.join(BLOBS), &trace).context("the recording")?;
        let models = ModelFiles::at(&folder.join(ModelFiles::FOLDER));
        let again = replayer::archive_of(&self.job).and_then(|archive| {
            let archive = folder.join(archive);
            let files = ReplayFiles { archive: &archive, models: &models, recording: &trace };
            let options = ReplayOptions { cancel, work_limit: None };
            replayer::replay_episode(&engine, &files, (&self.job, seeds), &self.episode, options)
        });
        let report = again.map_err(error_of)?;
        Ok(Replayed { job: id, report })
    }

    /// Writes the recording, unpacked, to the file `to`.
    fn write_recording(&self, blobs: &Path, to: &Path) -> anyhow::Result<()> {
        let trace = self.episode.evidence.iter().find(|file| file.name.ends_with(TRACE));
        let trace = trace.ok_or_else(|| anyhow!("the episode has none"))?;
        let [plain, packed] =
            Blobs::relative_paths(self.job.header.job_id, trace.sha256).map(|place| blobs.join(place));
        if packed.is_file() {
            return Ok(fs::write(to, Blobs::unpack_file(&packed)?)?);
        }
        Ok(fs::copy(plain, to).map(drop)?)
    }
}
