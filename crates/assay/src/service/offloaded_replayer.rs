//! Replays of a server without lanes: a worker that the operator trusts runs them. While there is none, the server
//! does, since a replay is what settles a doubt about a worker that is not trusted.

use std::path::Path;

use assay_api::{ReplayFailure, Replayer};
use assay_model::lane::files;
use assay_model::{AssignedEpisode, AssignedPolicy, EpisodeResult, Fingerprint, TaskAnswer, WorkerTask};
use assay_report::ReplayReport;
use assay_scenario::Budget;
use assay_store::{JobRecord, seeds_of_job};
use assay_worker::{Cancel, Engine};
use async_trait::async_trait;

use super::replayer::{CancelOnDrop, LocalReplayer, refused};
use super::worker_tasks::{NoAnswer, WorkerTasks};

/// Replays on workers, or else on this server.
#[derive(Debug)]
pub(super) struct OffloadedReplayer {
    pub(super) local: LocalReplayer,
    pub(super) tasks: WorkerTasks,
}

#[async_trait]
impl Replayer for OffloadedReplayer {
    async fn replay(&self, job: JobRecord, episode: EpisodeResult) -> Result<ReplayReport, ReplayFailure> {
        let seeds = seeds_of_job(&*self.local.records, &job.header).await;
        let seeds = seeds.map_err(|e| ReplayFailure::Broken(e.into()))?;
        let seeds = seeds.ok_or_else(|| refused("the season that the job belongs to was removed"))?;
        let assigned = AssignedEpisode {
            episode: episode.episode,
            seeds: seeds.episode(episode.episode),
            is_showcase: seeds.is_showcase(episode.episode),
        };
        let Some(task) = self.task(&job, assigned, &episode) else { return self.local.replay(job, episode).await };
        let slot = self.local.slots.take(&job.account)?;
        let recording = self.local.recording(&job, &episode).await.map_err(|e| ReplayFailure::Broken(e.into()))?;
        let recording = recording.ok_or_else(|| refused("there is no recording of this episode, or it was removed"))?;
        let archive = self.local.archive(&job).await?;
        let (tasks, cancel) = (self.tasks.clone(), Cancel::new());
        let _guard = CancelOnDrop(cancel.clone());
        let work = tokio::task::spawn_blocking(move || {
            let trace = recording.path().join(files::TRACE);
            let inputs: [(&str, &Path); 2] = [("recording", &trace), ("policy", archive.path())];
            let answer = tasks.run(&task, &inputs, &cancel);
            drop(slot);
            answer
        });
        let answer = work.await.map_err(|e| ReplayFailure::Broken(e.into()))?;
        match answer {
            // As without workers.
            Err(NoAnswer::WorkersFailed) => self.local.replay(job, episode).await,
            answer => report(answer, (&job, &self.local.engine), &episode),
        }
    }
}

impl OffloadedReplayer {
    /// Returns the task, if a worker can do it: one on the machine that ran the episode, or else any.
    fn task(&self, job: &JobRecord, seeds: AssignedEpisode, episode: &EpisodeResult) -> Option<WorkerTask> {
        let header = &job.header;
        let sha256 = header.policy_sha256.filter(|_| self.local.engine.lanes() == 0)?;
        // A policy server cannot be replayed, which the local replayer says.
        job.policy_path.as_ref()?;
        let engine = &self.local.engine;
        let ran_on = job.conclusion().and_then(|(_, recorded)| {
            let is_same =
                |machine: &Fingerprint| recorded.differences(&engine.fingerprint_of(machine, header)).is_empty();
            self.tasks.fleet.task_machines().iter().find(|machine| is_same(machine)).map(Fingerprint::digest)
        });
        let scenario = engine.scenario(&header.scenario, header.scenario_digest);
        let memory_mib = scenario.map_or(*Budget::MEMORY_MIB.end(), |scenario| scenario.budget.memory_mib);
        let task = |machine| WorkerTask::Replay {
            job_id: header.job_id,
            account: job.account.clone(),
            scenario: header.scenario.clone(),
            scenario_digest: header.scenario_digest,
            policy: AssignedPolicy::Archive { sha256, runtime: header.runtime.clone(), models: header.models.clone() },
            seeds,
            is_arena: header.arena.is_some(),
            result: Box::new(episode.clone()),
            machine,
            labels: header.labels.clone(),
            memory_mib,
        };
        let same = ran_on.map(|machine| task(Some(machine))).filter(|task| self.tasks.fleet.can_do(task, &[]));
        same.or_else(|| Some(task(None)).filter(|task| self.tasks.fleet.can_do(task, &[])))
    }
}

fn report(
    answer: Result<TaskAnswer, NoAnswer>,
    (job, engine): (&JobRecord, &Engine),
    episode: &EpisodeResult,
) -> Result<ReplayReport, ReplayFailure> {
    match answer {
        Ok(TaskAnswer::Replayed { trace_hash, comparison, machine }) => {
            let header = &job.header;
            let recorded = job.conclusion().map(|(_, fingerprint)| fingerprint);
            Ok(ReplayReport {
                same: comparison.difference.is_none(),
                episode: episode.episode,
                recorded_trace_hash: episode.trace_hash,
                replayed_trace_hash: trace_hash,
                fingerprint_differences: recorded
                    .map(|recorded| recorded.differences(&engine.fingerprint_of(&machine, header)))
                    .unwrap_or_default(),
                comparison,
            })
        }
        Ok(TaskAnswer::Refused { message }) => Err(ReplayFailure::Refused(message)),
        Ok(_) => Err(ReplayFailure::Broken("a worker answered another task".into())),
        Err(NoAnswer::Unavailable(message)) => Err(ReplayFailure::Unavailable(message)),
        Err(NoAnswer::Cancelled) => Err(ReplayFailure::Unavailable("the replay was stopped".to_owned())),
        Err(error) => Err(ReplayFailure::Broken(error.into())),
    }
}
