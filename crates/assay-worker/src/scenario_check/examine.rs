//! Examines a scenario in a jail: checks its validity, and renders pictures of its worlds.

use std::fs;
use std::path::Path;

use assay_jail::{Exit, LEAST_SHARE, SpawnError, StageError, WorkEnd, give_to_jail};
use assay_model::EpisodeSeeds;
use assay_model::lane::{ScenarioCheck, ScenarioFault, SheetJob, files};
use assay_scenario::Scenario;
use rustix::process::Signal;

use crate::engine::Staged;
use crate::episode::evidence;
use crate::episode::lane_process::stepping;
use crate::rendering::video::{RendererError, finish, finish_within};
use crate::scenario_check::examine_limits::ExamineLimits;
use crate::work::{WorkOutcome, finished};
use crate::{Cancel, Engine};

/// Limits of compiling and trying a scenario; one that needs more is rejected.
const LIMITS: ExamineLimits = ExamineLimits::new(15, 15);
/// Maximum size of an answer in bytes.
const ANSWER_BYTES: u64 = 64 * 1024;
/// Maximum size of a picture in bytes.
const PICTURE_BYTES: u64 = 64 * 1024 * 1024;
/// The checker's name for the compiled world.
const WHOLE_WORLD: &str = "scene";
/// Maximum length of the process's log in a fault, in bytes.
const LOG_BYTES: usize = 500;

/// The reason why a scenario could not be examined. Never a fault of the scenario.
#[derive(Debug, thiserror::Error)]
pub enum ExamineError {
    /// Its files could not be made available to a jail.
    #[error("could not make files readable for the jail")]
    Stage(#[from] StageError),
    /// A jail could not be started.
    #[error("could not start a jail")]
    Spawn(#[from] SpawnError),
    /// A folder for the answer could not be created.
    #[error("could not use the folder for the answer")]
    Io(#[from] std::io::Error),
    /// The answer is not valid.
    #[error("the checker's answer is not valid JSON")]
    Json(#[from] serde_json::Error),
    /// The machine cannot render.
    #[error("could not render a picture")]
    Draw(#[from] RendererError),
    /// The checker reported neither figures nor a fault.
    #[error("the checker reported neither figures nor a fault")]
    NothingMeasured,
    /// Another process stopped or killed it, or the machine gave it next to no CPU time.
    #[error(
        "this machine is too busy to look at the scenario (less than 1/{LEAST_SHARE} of a processor was left for it), \
         or another process stopped it"
    )]
    Busy,
}

/// Checks the scenario in `folder`, a path that its author knows: its files here, its worlds in a jail with 2 GiB and a
/// CPU time limit.
///
/// # Errors
/// [`ExamineError`]: it could not be checked. The scenario's faults are in the returned check.
pub fn check(engine: &Engine, folder: &Path, robots: &Path) -> Result<ScenarioCheck, ExamineError> {
    match Scenario::load_named(folder, robots) {
        Ok(scenario) => check_worlds(engine, &scenario, LIMITS),
        Err(error) => Ok(ScenarioCheck { fault: Some(error.fault()), figures: None }),
    }
}

/// The part of [`check`] that runs in a jail.
pub(crate) fn check_worlds(
    engine: &Engine,
    scenario: &Scenario,
    limits: ExamineLimits,
) -> Result<ScenarioCheck, ExamineError> {
    let staged = engine.staged(scenario)?;
    let scratch = engine.scratch("check")?;
    give_to_jail(scratch.path())?;
    let mut spec = engine.lane_spec(stepping(scenario), "check", &staged, scratch.path());
    limits.put(&mut spec);
    let mut child = engine.jail().spawn(spec)?;
    let what = match finished(&mut child, limits.work, &Cancel::new(), &|| ())? {
        WorkOutcome::Ended(exit) if exit.is_success() => return checked(scenario, scratch.path()),
        WorkOutcome::Ended(exit) if was_killed_early(&exit, limits) => return Err(ExamineError::Busy),
        WorkOutcome::OverLimit(end) if end.is_interference() => return Err(ExamineError::Busy),
        WorkOutcome::Cancelled => return Err(ExamineError::Busy),
        WorkOutcome::OverLimit(WorkEnd::Asleep) => {
            format!("makes the simulator hang, which slept for {} s", limits.work.asleep.as_secs())
        }
        WorkOutcome::OverLimit(_) => kills(Some(Signal::KILL.as_raw()), limits),
        WorkOutcome::Ended(exit) => kills(exit.signal, limits),
    };
    let log = assay_model::sanitise(&String::from_utf8_lossy(&child.output_tail()), LOG_BYTES);
    let log_end = if log.trim().is_empty() { String::new() } else { format!(": {}", log.trim()) };
    let problem = format!("{what}{log_end}; make the world smaller");
    Ok(ScenarioCheck {
        fault: Some(ScenarioFault { file: scenario.world.scene.clone(), key: None, problem }),
        figures: None,
    })
}

/// Reads the answer of a check that came to its end.
fn checked(scenario: &Scenario, scratch: &Path) -> Result<ScenarioCheck, ExamineError> {
    let mut checked: ScenarioCheck = serde_json::from_slice(&evidence::read(scratch, files::CHECKED, ANSWER_BYTES)?)?;
    // A fault of the compiled world as a whole is a fault of the scene.
    if let Some(fault) = checked.fault.as_mut().filter(|fault| fault.file == WHOLE_WORLD) {
        fault.file.clone_from(&scenario.world.scene);
    }
    Ok(checked)
}

/// Describes a scenario whose check ended early.
fn kills(signal: Option<i32>, limits: ExamineLimits) -> String {
    match signal {
        Some(signal) => {
            format!(
                "kills the simulator (signal {signal}), which is limited to {} s of CPU time and 2 GiB",
                limits.cpu_s
            )
        }
        None => "kills the simulator".to_owned(),
    }
}

/// Returns true if another process killed it, or the kernel when the machine ran out of memory: the kernel uses the
/// same signal for a process that has used up its CPU time.
fn was_killed_early(exit: &Exit, limits: ExamineLimits) -> bool {
    // The kernel counts CPU time in ticks.
    let had_all = exit.cpu > limits.work.cpu.mul_f64(0.9);
    exit.signal == Some(Signal::KILL.as_raw()) && !had_all
}

/// Renders the starts of the first `episodes` episodes of a job with that seed, `size` pixels each, as a PNG.
///
/// # Errors
/// [`ExamineError`]: no picture could be rendered.
pub fn draw(
    engine: &Engine,
    scenario: &Scenario,
    (seed, episodes): (u64, u32),
    size: (u32, u32),
) -> Result<Vec<u8>, ExamineError> {
    // A square grid, or one with one more column.
    let columns = (1..).find(|n| n * n >= episodes).unwrap_or(1);
    let worlds = (0..episodes).map(|episode| EpisodeSeeds::derive(seed, episode).world).collect();
    let job = SheetJob { worlds, columns, width: size.0, height: size.1 };
    let finish = |staged: &Staged, scratch: &Path| finish(engine, "sheet", staged, scratch, &Cancel::new());
    picture(engine, scenario, &job, finish)
}

/// Renders the scenario's picture: the start of its first world.
pub(crate) fn thumbnail(
    engine: &Engine,
    scenario: &Scenario,
    (width, height): (u32, u32),
    limits: ExamineLimits,
) -> Result<Vec<u8>, ExamineError> {
    let job = SheetJob { worlds: vec![EpisodeSeeds::derive(0, 0).world], columns: 1, width, height };
    let finish = |staged: &Staged, scratch: &Path| finish_within(engine, "sheet", staged, scratch, limits);
    picture(engine, scenario, &job, finish)
}

fn picture(
    engine: &Engine,
    scenario: &Scenario,
    job: &SheetJob,
    finish: impl FnOnce(&Staged, &Path) -> Result<(), RendererError>,
) -> Result<Vec<u8>, ExamineError> {
    let staged = engine.staged(scenario)?;
    let scratch = engine.scratch("sheet")?;
    fs::write(scratch.path().join(files::SHEET_JOB), serde_json::to_vec(job)?)?;
    give_to_jail(scratch.path())?;
    finish(&staged, scratch.path()).map_err(|error| match error {
        RendererError::OverLimit(end, _) if end.is_interference() => ExamineError::Busy,
        other => ExamineError::Draw(other),
    })?;
    Ok(evidence::read(scratch.path(), files::SHEET, PICTURE_BYTES)?)
}
