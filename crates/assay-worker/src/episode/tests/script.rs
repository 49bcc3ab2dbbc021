//! A machine that follows a script: for each episode a list of attempts, each with the start of its policy, the events
//! of its lane, and its end. An episode without a script completes at the first attempt.

mod policy;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use assay_jail::{Activity, Exit, ExitReason, StageError};
use assay_model::lane::{Cost, Done, RenderPart, RunEpisode, files};
use assay_model::{
    ClauseStatus, EpisodeError, EpisodeResult, EpisodeStatus, Level, PolicyErrorCode, Termination, Violation,
};
use assay_policy::PolicyHome;
use assay_scenario::Scenario;
use assay_store_testing::episode;
use tempfile::TempDir;

use self::policy::ScriptedStart;
use crate::engine::Staged;
use crate::episode::host::{EpisodeHost, PreparedPolicy};
use crate::episode::lane::{Lane, LaneError, LaneEvents};
use crate::episode::results::{Loss, without_end};
use crate::rendering::video::{Recording, RenderOutput, RendererError};
use crate::{Cancel, Job, PolicySource, SessionError, WallBudget};

/// Time that passes between two ticks of a waiting lane: the longest that one sample of a policy counts for.
const STEP: Duration = Duration::from_millis(100);
/// CPU time after which the kernel would kill a scripted policy.
pub(crate) const CPU_LIMIT: Duration = Duration::from_secs(100);
/// A critical clause of the scenario.
pub(crate) const CRITICAL: &str = "keep_in";

/// Returns a small built-in scenario.
pub(crate) fn scenario() -> Arc<Scenario> {
    static SCENARIO: OnceLock<Arc<Scenario>> = OnceLock::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let load = || Scenario::load(&root.join("scenarios/cartpole_keepin"), &root.join("robots")).unwrap().into();
    Arc::clone(SCENARIO.get_or_init(load))
}

/// An event of a scripted lane.
pub(crate) enum Act {
    /// This many control steps are done.
    Steps(u32),
    /// A clause is violated.
    Violates(&'static str),
    /// The policy gives no answer for this time, in this state.
    Waits(Duration, Activity),
    /// The policy has answered, and the lane gets no processor for this time to read it.
    Delays(Duration),
    /// Something happens outside the lane.
    Meanwhile(Box<dyn FnOnce() + Send>),
}

/// The end of a scripted lane's episode.
pub(crate) enum End {
    /// The episode is completed.
    Completed,
    /// The policy's process is gone.
    PolicyGone,
    /// The policy sent something that is not an action.
    PolicyError(PolicyErrorCode),
    /// The lane fails.
    Lane(LaneError),
}

/// The start of a scripted policy.
enum Start {
    Ready,
    Failed(PolicyErrorCode),
    Disturbed,
    Elsewhere,
}

/// One attempt at an episode.
pub(crate) struct Attempt {
    start: Start,
    acts: Vec<Act>,
    end: End,
    /// The exit of the policy's process.
    exit: Exit,
    /// True if the policy is a process, not a server.
    is_process: bool,
    /// True if a link takes the place of the lane's recording.
    links: bool,
}

impl Attempt {
    fn new(start: Start, end: End, exit: Exit) -> Self {
        Self { start, acts: Vec::new(), end, exit, is_process: true, links: false }
    }

    /// Creates an attempt that completes the episode.
    pub(crate) fn completed() -> Self {
        Self::new(Start::Ready, End::Completed, exited(0))
    }

    /// Creates an attempt whose policy can't be imported.
    pub(crate) fn import_failed(code: PolicyErrorCode) -> Self {
        Self::new(Start::Failed(code), End::Completed, exited(1))
    }

    /// Creates an attempt whose import is disturbed from outside.
    pub(crate) fn import_disturbed() -> Self {
        Self::new(Start::Disturbed, End::Completed, exited(0))
    }

    /// Creates an attempt whose policy is connected to another server.
    pub(crate) fn policy_elsewhere() -> Self {
        Self { start: Start::Elsewhere, ..Self::completed() }
    }

    /// Creates an attempt during which the policy's process ends.
    pub(crate) fn policy_gone(exit: Exit) -> Self {
        Self::new(Start::Ready, End::PolicyGone, exit)
    }

    /// Creates an attempt whose policy sends something that is not an action.
    pub(crate) fn policy_error(code: PolicyErrorCode) -> Self {
        Self::new(Start::Ready, End::PolicyError(code), exited(0))
    }

    /// Creates an attempt that ends with an error of the lane.
    pub(crate) fn lane_error(error: LaneError) -> Self {
        Self::new(Start::Ready, End::Lane(error), exited(0))
    }

    /// Creates an attempt whose lane dies by itself after `step`.
    pub(crate) fn lane_dies(exit: &str, step: u32) -> Self {
        let (exit, log) = (exit.to_owned(), "the end of its log".to_owned());
        Self::lane_error(LaneError::Died { exit, by_others: false, step, log })
    }

    /// Creates an attempt whose lane is killed from outside.
    pub(crate) fn lane_killed() -> Self {
        let (exit, log) = ("signal 9".to_owned(), String::new());
        Self::lane_error(LaneError::Died { exit, by_others: true, step: 7, log })
    }

    /// Adds an event.
    pub(crate) fn with(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    /// Adds something that happens in the middle of the episode.
    pub(crate) fn meanwhile(self, act: impl FnOnce() + Send + 'static) -> Self {
        self.with(Act::Meanwhile(Box::new(act)))
    }

    /// Makes its policy a server.
    pub(crate) fn of_server(self) -> Self {
        Self { is_process: false, ..self }
    }

    /// Puts a link in the place of the recording.
    pub(crate) fn with_link(self) -> Self {
        Self { links: true, ..self }
    }
}

/// Returns the exit of a process that ended by itself.
pub(crate) fn exited(code: i32) -> Exit {
    Exit { code: Some(code), signal: None, reason: ExitReason::Exited, ..signalled(0, Duration::ZERO) }
}

/// Returns the exit of a process that was ended by a signal, after at most `counted` of CPU time.
pub(crate) fn signalled(signal: i32, counted: Duration) -> Exit {
    Exit {
        code: None,
        signal: Some(signal),
        reason: ExitReason::Signalled,
        cpu: counted,
        cpu_counted_at_most: counted,
        max_rss_bytes: 1 << 20,
        output_bytes: 0,
    }
}

/// Returns a violation of `clause`.
pub(crate) fn violation(clause: &str) -> Violation {
    Violation {
        clause: clause.to_owned(),
        level: Level::Critical,
        start_s: 0.5,
        end_s: 0.502,
        onset_value: None,
        peak_s: None,
        value: Some(1.5),
        limit: 1.0,
        unit: "m".to_owned(),
        robustness: Some(-0.5),
        involved: Vec::new(),
    }
}

/// The behaviour of a lane in one attempt.
struct LaneScript {
    acts: Vec<Act>,
    end: End,
    links: bool,
}

/// State that host, lanes and policies share.
#[derive(Default)]
struct Stage {
    scripts: HashMap<u32, VecDeque<Attempt>>,
    /// Attempts whose policy has started.
    lanes: HashMap<u32, VecDeque<LaneScript>>,
    log: Vec<String>,
    homes: Vec<PolicyHome>,
    passed: Duration,
    activity: Option<Activity>,
    /// True if the worker killed the policy of the running episode.
    killed: bool,
}

/// A machine that follows a script.
#[derive(Clone)]
pub(crate) struct ScriptedHost {
    stage: Arc<Mutex<Stage>>,
    began: Instant,
}

impl fmt::Debug for ScriptedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScriptedHost")
    }
}

impl ScriptedHost {
    /// Creates a machine with the attempts of episodes.
    pub(crate) fn new(scripts: impl IntoIterator<Item = (u32, Vec<Attempt>)>) -> Self {
        let scripts = scripts.into_iter().map(|(episode, attempts)| (episode, attempts.into())).collect();
        Self { stage: Arc::new(Mutex::new(Stage { scripts, ..Stage::default() })), began: Instant::now() }
    }

    /// Returns the events so far: lanes started, and how policies ended.
    pub(crate) fn log(&self) -> Vec<String> {
        self.stage.lock().unwrap().log.clone()
    }

    /// Returns the number of times that something happened.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.log().iter().filter(|line| line.contains(what)).count()
    }

    /// Returns the homes of the policies that were prepared so far.
    pub(crate) fn homes(&self) -> Vec<PolicyHome> {
        self.stage.lock().unwrap().homes.clone()
    }

    /// Returns true if every scripted attempt was made.
    pub(crate) fn is_played(&self) -> bool {
        let stage = self.stage.lock().unwrap();
        stage.scripts.values().all(VecDeque::is_empty) && stage.lanes.values().all(VecDeque::is_empty)
    }

    fn record_event(&self, what: impl Into<String>) {
        self.stage.lock().unwrap().log.push(what.into());
    }
}

impl EpisodeHost for ScriptedHost {
    fn staged(&self, scenario: &Scenario) -> Result<Staged, StageError> {
        Ok(Staged { scenario: scenario.folder.clone().into(), robots: scenario.robots_folder.clone().into() })
    }

    fn lane(&self, _scenario: &Scenario, _staged: &Staged, _core: usize) -> Result<Box<dyn Lane>, LaneError> {
        self.record_event("lane started");
        Ok(Box::new(ScriptedLane { host: self.clone(), scratch: Arc::new(tempfile::tempdir()?) }))
    }

    fn policy(&self, job: &Job, episode: u32, _core: usize) -> Result<Box<dyn PreparedPolicy + '_>, SessionError> {
        let mut stage = self.stage.lock().unwrap();
        if let PolicySource::Folder(folder) = &job.policy {
            stage.homes.push(folder.home.clone());
        }
        let attempt = stage.scripts.get_mut(&episode).and_then(VecDeque::pop_front);
        let attempt = attempt.unwrap_or_else(Attempt::completed);
        Ok(Box::new(ScriptedStart { host: self.clone(), episode, attempt }))
    }

    fn showcase(
        &self,
        _recording: &Recording<'_>,
        _part: RenderPart,
        _cancel: &Cancel,
    ) -> Result<RenderOutput, RendererError> {
        Err(RendererError::Failed("the scripted host renders nothing".to_owned()))
    }

    fn wall_budget(&self, scenario: &Scenario) -> Duration {
        WallBudget::default().of(scenario)
    }

    fn now(&self) -> Instant {
        self.began + self.stage.lock().unwrap().passed
    }
}

/// A lane that follows a script.
#[derive(Debug)]
struct ScriptedLane {
    host: ScriptedHost,
    scratch: Arc<TempDir>,
}

impl Lane for ScriptedLane {
    fn run(
        &mut self,
        run: RunEpisode,
        _policy: [BorrowedFd<'_>; 2],
        cancel: &Cancel,
        events: &mut dyn LaneEvents,
    ) -> Result<Done, LaneError> {
        let script = self.host.stage.lock().unwrap().lanes.get_mut(&run.episode).and_then(VecDeque::pop_front);
        let LaneScript { acts, end, links } = script.unwrap();
        self.write(&run, links)?;
        for act in acts {
            match act {
                Act::Steps(step) => events.progress(step, 100),
                Act::Violates(clause) => events.violated(violation(clause))?,
                Act::Waits(time, activity) => {
                    if self.wait(time, (activity, Activity::Asleep), events).is_killed() {
                        return Ok(done(&run, &End::PolicyGone));
                    }
                }
                Act::Delays(time) => {
                    if self.wait(time, (Activity::Asleep, Activity::Ready), events).is_killed() {
                        return Ok(done(&run, &End::PolicyGone));
                    }
                }
                Act::Meanwhile(act) => act(),
            }
            if cancel.is_cancelled() {
                return Err(LaneError::Cancelled);
            }
        }
        match end {
            End::Lane(error) => Err(error),
            end => Ok(done(&run, &end)),
        }
    }

    fn scratch(&self) -> Arc<TempDir> {
        Arc::clone(&self.scratch)
    }
}

/// The end of a wait for a policy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waited {
    Answered,
    Killed,
}

impl Waited {
    fn is_killed(self) -> bool {
        self == Self::Killed
    }
}

impl ScriptedLane {
    /// Waits for the policy; `policy` and `lane` are their activities.
    fn wait(&self, time: Duration, (policy, lane): (Activity, Activity), events: &mut dyn LaneEvents) -> Waited {
        self.host.stage.lock().unwrap().activity = Some(policy);
        events.waiting();
        let mut waited = Duration::ZERO;
        while waited < time {
            waited += STEP;
            self.host.stage.lock().unwrap().passed += STEP;
            events.tick(&|| Some(lane));
            if self.host.stage.lock().unwrap().killed {
                return Waited::Killed;
            }
        }
        events.answered();
        Waited::Answered
    }

    /// Writes the files of an attempt, which name the number of the attempt.
    fn write(&self, run: &RunEpisode, links: bool) -> Result<(), LaneError> {
        let Some(folder) = &run.evidence else { return Ok(()) };
        let folder = self.scratch.path().join(folder);
        if folder.exists() {
            self.host.record_event("files of an earlier attempt");
        }
        fs::create_dir_all(&folder)?;
        self.host.record_event("files written");
        let attempt = self.host.count("files written");
        for name in files::STEPPED {
            if links && name == files::TRACE {
                std::os::unix::fs::symlink("/etc/hostname", folder.join(name))?;
            } else {
                fs::write(folder.join(name), format!("{name} of attempt {attempt}"))?;
            }
        }
        Ok(())
    }
}

/// Returns what a lane sends at the end of an episode.
fn done(run: &RunEpisode, end: &End) -> Done {
    let empty = without_end(&scenario(), run.episode, run.seeds, (Loss::CutOff, ""));
    let mut result =
        EpisodeResult { clauses: empty.clauses, stages: empty.stages, seed: run.seeds.policy, ..episode(run.episode) };
    for clause in &mut result.clauses {
        (clause.status, clause.robustness) = (ClauseStatus::Satisfied, Some(0.5));
    }
    let code = match end {
        End::PolicyGone => Some(PolicyErrorCode::Exited),
        End::PolicyError(code) => Some(code.clone()),
        End::Completed | End::Lane(_) => None,
    };
    if let Some(code) = code {
        (result.status, result.termination) = (EpisodeStatus::PolicyError, Termination::PolicyError);
        result.success = false;
        let message = "the policy did not act".to_owned();
        result.error = Some(EpisodeError { code, message, log_tail: String::new() });
    }
    Done { result, cost: Cost::default(), probed: None, observations: None }
}
