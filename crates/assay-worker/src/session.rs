//! A job's episodes on one lane: the next policy is imported while the current episode runs, and evidence is taken over
//! and drawn while the next episodes do.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::lane::{Run, WATCHDOG};
use assay_model::{
    Artifact, ClauseResult, ClauseStatus, EpisodeError, EpisodeResult, EpisodeSeeds, EpisodeStatus, Record, SeedSource,
    StageResult, Termination,
};
use assay_policy::{PolicyConnection, PolicyFailure};
use assay_scenario::Scenario;

use crate::finisher::{Finished, Finisher, Written};
use crate::lane_process::{LaneError, LaneProcess};
use crate::policy::{Arrived, PolicySource, Upcoming};
use crate::{Cancel, Engine, evidence};

/// Times that an episode is tried again when the machine, not the policy, kept it from running.
const MAX_RETRIES: u32 = 3;
/// Episodes that may wait to be completed; a lane that is faster waits.
const MAX_WAITING: usize = 4;
/// A policy that spent at least this share of a stall waiting for the processor is not to blame for it.
const STARVED_SHARE: f64 = 0.5;
/// How often an import that is under way is looked at: an episode begins at most this much later than it could.
const IMPORT_TICK: Duration = Duration::from_micros(100);

/// A job as its lanes see it.
#[derive(Debug)]
pub struct Job {
    /// What it is evaluated on.
    pub scenario: Arc<Scenario>,
    /// What is evaluated.
    pub policy: PolicySource,
    /// Where its episodes get their seeds from.
    pub seeds: SeedSource,
    /// Which episodes get a video.
    pub record: Record,
    /// Where evidence goes, `episodes/NNN/...` below it; `None` keeps none.
    pub folder: Option<PathBuf>,
    /// Most bytes of an episode's evidence; over it images are left out ([`crate::episode_share`]).
    pub max_episode_bytes: u64,
}

/// Why a job's episodes can't be run. Never the policy's fault.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The job was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The scenario can't be run: its author's fault.
    #[error("the scenario can't be run: {0}")]
    Scenario(String),
    /// The lane or a jail does not work.
    #[error("{0}")]
    Platform(String),
    /// The receiver of results gave up.
    #[error("{0}")]
    Rejected(String),
}

/// What a session tells while it works.
pub(crate) trait SessionEvents: Sync {
    /// `step` of `of` control steps are done.
    fn progress(&self, episode: u32, step: u32, of: u32);
    /// Whether an episode still matters; asked before it begins. The later ones of the lane do not either then.
    fn wanted(&self, _episode: u32) -> bool {
        true
    }
    /// A file of an episode's evidence is where it goes, under its plain name. An error stops the session.
    fn keep(&self, _episode: u32, _file: &Artifact) -> Result<(), String> {
        Ok(())
    }
    /// An episode is complete, with its video if it gets one. An error stops the session.
    fn finished(&self, result: EpisodeResult) -> Result<(), String>;
}

/// One lane's work on a job.
pub(crate) struct Session<'a> {
    engine: &'a Engine,
    job: &'a Job,
    core: usize,
    cancel: &'a Cancel,
    staged: PathBuf,
    lane: Option<LaneProcess>,
    /// Raised when no further episode is to be begun.
    stopping: Cancel,
}

impl<'a> Session<'a> {
    pub(crate) fn new(engine: &'a Engine, job: &'a Job, core: usize, cancel: &'a Cancel) -> Result<Self, SessionError> {
        let staged = engine.staged(&job.scenario.folder).map_err(|e| platform(&e))?;
        Ok(Self { engine, job, core, cancel, staged, lane: None, stopping: Cancel::new() })
    }

    /// Begins with a lane that was started before there was anything to do.
    pub(crate) fn with(self, lane: Option<LaneProcess>) -> Self {
        Self { lane, ..self }
    }

    /// Begins no further episode once `stopping` is raised.
    pub(crate) fn stopping(self, stopping: Cancel) -> Self {
        Self { stopping, ..self }
    }

    /// Runs the episodes that `next` hands out. The calling thread must live as long as its lanes and policies.
    pub(crate) fn run(
        &mut self,
        mut next: impl FnMut() -> Option<u32>,
        events: &dyn SessionEvents,
    ) -> Result<(), SessionError> {
        let finisher =
            Finisher { engine: self.engine, job: self.job, scenario: self.staged.clone(), cancel: self.cancel };
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(MAX_WAITING);
            let finishing = scope.spawn(move || finisher.run(&receiver, events));
            let outcome = self.run_all(&mut next, &sender, events);
            drop(sender);
            let panicked = || Err(SessionError::Platform("the finishing thread panicked".to_owned()));
            outcome.and(finishing.join().unwrap_or_else(|_| panicked()))
        })
    }

    /// Its lane, to be ended when there is time for it.
    pub(crate) fn into_lane(self) -> Option<LaneProcess> {
        self.lane
    }

    fn run_all(
        &mut self,
        next: &mut dyn FnMut() -> Option<u32>,
        sender: &SyncSender<Finished>,
        events: &dyn SessionEvents,
    ) -> Result<(), SessionError> {
        let mut upcoming = self.upcoming(next)?;
        while let Some((episode, prepared)) = upcoming.take() {
            // The next policy is imported while this one acts. For a server there is nothing to do ahead, and another
            // lane may be free to take the episode.
            let ahead = matches!(self.job.policy, PolicySource::Folder(_));
            if ahead {
                upcoming = self.upcoming(next)?;
            }
            if self.stopping.is_cancelled() || !events.wanted(episode) {
                return Ok(());
            }
            let finished = self.episode(episode, prepared, events)?;
            if sender.send(finished).is_err() {
                // The finisher stopped: its error is the reason.
                return Ok(());
            }
            if !ahead {
                upcoming = self.upcoming(next)?;
            }
        }
        Ok(())
    }

    fn upcoming(&self, next: &mut dyn FnMut() -> Option<u32>) -> Result<Option<(u32, Upcoming)>, SessionError> {
        next().map(|episode| Ok((episode, self.prepare(episode)?))).transpose()
    }

    fn prepare(&self, episode: u32) -> Result<Upcoming, SessionError> {
        let seeds = self.job.seeds.episode(episode);
        self.job.policy.prepare(self.engine, &self.job.scenario, (seeds.policy, self.core), None)
    }

    /// One episode, tried again where the machine was at fault.
    fn episode(&mut self, episode: u32, first: Upcoming, events: &dyn SessionEvents) -> Result<Finished, SessionError> {
        let mut prepared = Some(first);
        let mut deaths: Vec<(String, u32)> = Vec::new();
        for _ in 0..=MAX_RETRIES {
            let policy = prepared.take().map_or_else(|| self.prepare(episode), Ok)?;
            match self.attempt(episode, policy, events) {
                Ok(Some(finished)) => return Ok(finished),
                Ok(None) => {}
                Err(LaneError::Cancelled) => return Err(SessionError::Cancelled),
                Err(LaneError::Refused(message)) => return Err(SessionError::Scenario(message)),
                Err(LaneError::Died { exit, by_others, step, log }) => {
                    self.lane = None;
                    if !by_others && deaths.contains(&(exit.clone(), step)) {
                        return Ok(self.killed_by_scenario(episode, step, &exit));
                    }
                    tracing::warn!(episode, step, exit, log, "a lane died");
                    deaths.push((exit, step));
                }
                Err(error) => {
                    self.lane = None;
                    return Err(platform(&error));
                }
            }
        }
        Err(SessionError::Platform(format!("episode {episode} could not be run in {} tries", MAX_RETRIES + 1)))
    }

    /// `None`: the policy was kept from running; try again.
    fn attempt(
        &mut self,
        episode: u32,
        prepared: Upcoming,
        events: &dyn SessionEvents,
    ) -> Result<Option<Finished>, LaneError> {
        let seeds = self.job.seeds.episode(episode);
        // It compiles its scenario while the policy is imported.
        let lane = match &mut self.lane {
            Some(lane) => lane,
            None => self.lane.insert(LaneProcess::start(self.engine, &self.job.scenario, &self.staged, self.core)?),
        };
        let mut prepared = prepared.begin(self.engine).map_err(|e| LaneError::Failed(e.to_string()))?;
        while !prepared.is_done() {
            // An import or a connection may take its time; who cancels does not have to wait for it.
            if self.cancel.is_cancelled() {
                return Err(LaneError::Cancelled);
            }
            thread::sleep(IMPORT_TICK);
        }
        let mut policy = match prepared.wait().map_err(|e| LaneError::Failed(e.to_string()))? {
            Arrived::Ready(policy) => policy,
            Arrived::Failed(failure) => {
                let result = not_started(&self.job.scenario, episode, seeds, *failure);
                return Ok(Some(Finished { result, world_seed: seeds.world, written: None, policy: None }));
            }
            Arrived::Starved => {
                tracing::warn!(episode, "the policy was kept from being imported; the episode is run again");
                return Ok(None);
            }
            Arrived::GivenUp(_) => return Err(LaneError::Failed("an import was given up in an episode".to_owned())),
        };
        let stream = policy.take_stream().ok_or_else(|| LaneError::Failed("a policy without a stream".to_owned()))?;
        let folder = format!("{episode:03}");
        let destination = self.job.folder.as_ref().map(|to| to.join(evidence::folder_of(episode)));
        let kept = destination.as_ref().map(|_| folder.clone());
        let run = Run { episode, seeds, nonce: policy.nonce(), policy_pid: policy.pid(), evidence: kept, probe: None };
        let mut heard = Heard::now(&*policy);
        let mut progress = |step, of| {
            heard = Heard::now(&*policy);
            events.progress(episode, step, of);
        };
        let done = lane.run(run, stream.descriptors(), self.cancel, &mut progress)?;
        drop(stream);
        tracing::info!(episode, cost = %serde_json::to_string(&done.cost).unwrap_or_default(), "an episode ended");
        if done.stalled && heard.was_kept_from_running(&*policy) {
            tracing::warn!(episode, "the policy was kept from running; the episode is run again");
            return Ok(None);
        }
        let written = destination.map(|destination| Written { scratch: lane.scratch(), inside: folder, destination });
        Ok(Some(Finished { result: done.result, world_seed: seeds.world, written, policy: Some(policy) }))
    }

    /// A scenario that kills the simulator at the same step twice is to blame for it.
    fn killed_by_scenario(&self, episode: u32, step: u32, exit: &str) -> Finished {
        let seeds = self.job.seeds.episode(episode);
        let message = format!("the simulator died twice ({exit}) after control step {step}");
        let error = EpisodeError { code: "simulator_died".to_owned(), message, log_tail: String::new() };
        let mut result = empty(&self.job.scenario, episode, seeds, error);
        (result.status, result.termination) = (EpisodeStatus::Invalid, Termination::Unstable);
        Finished { result, world_seed: seeds.world, written: None, policy: None }
    }
}

/// Why a policy could not be imported, or not be reached.
pub(crate) fn not_started_error(failure: PolicyFailure) -> EpisodeError {
    let log_tail = if failure.traceback.is_empty() { failure.log_tail } else { failure.traceback };
    EpisodeError { code: failure.code, message: failure.message, log_tail }
}

/// An episode whose policy could not be imported, or not be reached.
fn not_started(scenario: &Scenario, episode: u32, seeds: EpisodeSeeds, failure: PolicyFailure) -> EpisodeResult {
    let timeout = ["import_timeout", "timeout"].contains(&failure.code.as_str());
    let error = not_started_error(failure);
    let mut result = empty(scenario, episode, seeds, error);
    if timeout {
        (result.status, result.termination) = (EpisodeStatus::PolicyTimeout, Termination::PolicyTimeout);
    }
    result
}

/// An episode without a single step.
fn empty(scenario: &Scenario, episode: u32, seeds: EpisodeSeeds, error: EpisodeError) -> EpisodeResult {
    let clause = |clause: &assay_scenario::Clause| ClauseResult {
        id: clause.id.clone(),
        level: clause.level,
        standard: clause.standard.clone(),
        unit: clause.unit.clone(),
        limit: clause.limit,
        status: ClauseStatus::Undetermined,
        robustness: None,
        worst_value: None,
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
        video_url: None,
        log_url: None,
        trace_hash: None,
        judge: None,
        error: Some(error),
        evidence: Vec::new(),
        evidence_notes: Vec::new(),
    }
}

/// When a policy was last known to act, and how long it had waited for a processor by then.
struct Heard {
    at: Instant,
    delay: Duration,
}

impl Heard {
    fn now(policy: &dyn PolicyConnection) -> Self {
        Self { at: Instant::now(), delay: policy.run_delay().unwrap_or_default() }
    }

    /// Whether a policy that stalled since then is not to blame: it waited for a processor, or somebody has stopped it.
    fn was_kept_from_running(&self, policy: &dyn PolicyConnection) -> bool {
        let waited = policy.run_delay().unwrap_or_default().saturating_sub(self.delay);
        // Before its first step it may have had to wait for its lane, too.
        policy.is_stopped() || was_starved(waited, self.at.elapsed().min(WATCHDOG))
    }
}

/// Whether a policy that stalled was waiting for a processor for most of the time.
fn was_starved(waited: Duration, stalled: Duration) -> bool {
    waited > stalled.mul_f64(STARVED_SHARE)
}

/// An error with all its causes, as our own fault.
pub(crate) fn platform(error: &dyn std::error::Error) -> SessionError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    SessionError::Platform(text)
}

#[cfg(test)]
mod tests {
    use super::{Duration, was_starved};

    #[test]
    fn who_waited_for_a_processor_is_not_blamed() {
        let stalled = Duration::from_secs(20);
        assert!(was_starved(Duration::from_secs(15), stalled));
        assert!(!was_starved(Duration::from_secs(5), stalled));
        assert!(!was_starved(Duration::ZERO, stalled), "asleep");
    }
}
