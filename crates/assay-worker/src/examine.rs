//! Looking at a scenario itself, in a jail: whether it is usable, and what its worlds look like.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_jail::{ExitReason, SpawnError, StageError, give_to_jail};
use assay_model::EpisodeSeeds;
use assay_model::lane::{Checked, Fault, SheetJob, files};
use assay_scenario::Scenario;

use crate::lane_process::stepping;
use crate::video::{VideoError, finish};
use crate::{Cancel, Engine, evidence};

/// A scenario that takes longer to compile and to try is refused.
const LIMIT: Duration = Duration::from_secs(18);
/// CPU time of the same, in s.
const CPU_S: u64 = 15;
/// Time for a killed process to be gone.
const TICK: Duration = Duration::from_millis(20);
/// Longest answer in bytes.
const ANSWER_BYTES: u64 = 64 * 1024;
/// Largest picture in bytes.
const PICTURE_BYTES: u64 = 64 * 1024 * 1024;
/// How the checker calls the compiled world.
const WHOLE_WORLD: &str = "scene";
/// Longest part of the process's log in a fault, in bytes.
const LOG_BYTES: usize = 500;

/// Why nothing can be said of a scenario. Never the scenario's fault.
#[derive(Debug, thiserror::Error)]
pub enum ExamineError {
    /// Its files can't be handed to a jail.
    #[error("files for the jail")]
    Stage(#[from] StageError),
    /// A jail can't be started.
    #[error("a jail can't be started")]
    Spawn(#[from] SpawnError),
    /// A folder of ours.
    #[error("a folder for the answer")]
    Io(#[from] std::io::Error),
    /// An answer that is none.
    #[error("the answer makes no sense")]
    Json(#[from] serde_json::Error),
    /// Nothing can be drawn.
    #[error("{0}")]
    Draw(String),
}

/// Checks the scenario in `folder`: its files here, its worlds in a jail with 2 GiB and a limit on its CPU time.
///
/// # Errors
/// [`ExamineError`]: it could not be checked. What is wrong with the scenario is in the answer.
pub fn check(engine: &Engine, folder: &Path, robots: &Path) -> Result<Checked, ExamineError> {
    let scenario = match Scenario::load(folder, robots) {
        Ok(scenario) => scenario,
        Err(error) => return Ok(Checked { fault: Some(error.fault()), figures: None }),
    };
    let staged = engine.staged(folder)?;
    let scratch = engine.scratch("check")?;
    give_to_jail(scratch.path())?;
    let mut spec = engine.lane_spec(stepping(&scenario), "check", &staged, scratch.path());
    spec.limits.cpu_s = CPU_S;
    let mut child = engine.jail().spawn(spec)?;
    let until = Instant::now() + LIMIT;
    let exit = loop {
        match child.wait_deadline(TICK) {
            Some(exit) => break exit,
            None if Instant::now() > until => break child.kill(),
            None => {}
        }
    };
    if exit.is_success() {
        let mut checked: Checked =
            serde_json::from_slice(&evidence::read(scratch.path(), files::CHECKED, ANSWER_BYTES)?)?;
        // What is wrong with the compiled world as a whole is wrong with the scene.
        if let Some(fault) = checked.fault.as_mut().filter(|fault| fault.file == WHOLE_WORLD) {
            fault.file = scenario.world.scene;
        }
        return Ok(checked);
    }
    let log = assay_model::sanitise(&String::from_utf8_lossy(&child.output_tail()), LOG_BYTES);
    let what = match exit.signal {
        _ if exit.reason == ExitReason::Killed => {
            format!("takes longer than {} s to compile and to try", LIMIT.as_secs())
        }
        Some(signal) => {
            format!("kills the simulator (signal {signal}), which may have {CPU_S} s of CPU time and 2 GiB")
        }
        None => "kills the simulator".to_owned(),
    };
    let said = if log.trim().is_empty() { String::new() } else { format!(": {}", log.trim()) };
    let problem = format!("{what}{said}; make the world smaller");
    Ok(Checked { fault: Some(Fault { file: scenario.world.scene, key: None, problem }), figures: None })
}

/// Draws the starts of the first `episodes` episodes of a job with that seed, `size` pixels each: a PNG.
///
/// # Errors
/// [`ExamineError`]: no picture.
pub fn draw(
    engine: &Engine,
    scenario: &Scenario,
    (seed, episodes): (u64, u32),
    (width, height): (u32, u32),
) -> Result<Vec<u8>, ExamineError> {
    let staged = engine.staged(&scenario.folder)?;
    let scratch = engine.scratch("sheet")?;
    // As many rows as columns, or one more column.
    let columns = (1..).find(|n| n * n >= episodes).unwrap_or(1);
    let worlds = (0..episodes).map(|episode| EpisodeSeeds::derive(seed, episode).world).collect();
    let job = SheetJob { worlds, columns, width, height };
    fs::write(scratch.path().join(files::SHEET_JOB), serde_json::to_vec(&job)?)?;
    give_to_jail(scratch.path())?;
    finish(engine, "sheet", &staged, scratch.path(), &Cancel::new())
        .map_err(|e: VideoError| ExamineError::Draw(crate::session::platform(&e).to_string()))?;
    Ok(evidence::read(scratch.path(), files::SHEET, PICTURE_BYTES)?)
}
