//! Looking at a scenario that a stranger wants to publish: its worlds, an episode without any action, and its picture, in
//! jails, within 20 s in all.

use std::time::{Duration, Instant};

use assay_model::lane::{Figures, ScenarioFault};
use assay_scenario::Scenario;

use crate::examine::{ExamineLimits, check_worlds, thumbnail};
use crate::{Engine, ExamineError, check_rendering};

/// For compiling, drawing worlds and the smoke episode.
const CHECK: ExamineLimits = ExamineLimits { wall: Duration::from_secs(13), cpu_s: 10 };
/// For all of it, by the wall: the picture may have what is left.
const ALL: Duration = Duration::from_secs(19);
/// CPU time of the picture, in s.
const PICTURE_CPU_S: u64 = 5;
/// Pixels of the picture.
const SIZE: (u32, u32) = (512, 384);
/// Least simulated time by CPU time.
const LEAST_REAL_TIME: f64 = 1.0;
/// Most contacts at a time.
const MOST_CONTACTS: u32 = 1000;

/// What was found of a scenario that may be published.
#[derive(Debug, Clone)]
pub struct Vetted {
    /// What its worlds are like.
    pub figures: Figures,
    /// Its picture, a PNG; none where this machine draws nothing.
    pub thumbnail: Option<Vec<u8>>,
}

/// Vets a scenario; the inner error is what its author has to change.
///
/// # Errors
/// [`ExamineError`]: it could not be looked at.
pub fn vet(engine: &Engine, scenario: &Scenario) -> Result<Result<Vetted, ScenarioFault>, ExamineError> {
    let fault = |file: &str, key: Option<&str>, problem| {
        let (file, key) = (file.to_owned(), key.map(str::to_owned));
        Ok(Err(ScenarioFault { file, key, problem }))
    };
    let (began, scene) = (Instant::now(), scenario.world.scene.as_str());
    let figures = match check_worlds(engine, scenario, CHECK)? {
        assay_model::lane::ScenarioCheck { fault: Some(fault), .. } => return Ok(Err(fault)),
        checked => checked.figures.ok_or_else(|| ExamineError::Draw("the checker measured nothing".to_owned()))?,
    };
    if figures.real_time_factor < LEAST_REAL_TIME {
        let problem = format!(
            "needs {:.1} s of CPU time for a simulated second; a published scenario needs at most {LEAST_REAL_TIME}: make \
             the world smaller or the timestep longer",
            1.0 / figures.real_time_factor
        );
        return fault(scene, None, problem);
    }
    if figures.most_contacts > MOST_CONTACTS {
        let problem = format!(
            "has {} contacts at a time, at most {MOST_CONTACTS} are taken; exclude pairs that need not collide",
            figures.most_contacts
        );
        return fault(scene, None, problem);
    }
    let limits = ExamineLimits { wall: ALL.saturating_sub(began.elapsed()), cpu_s: PICTURE_CPU_S };
    match thumbnail(engine, scenario, SIZE, limits) {
        Ok(picture) => Ok(Ok(Vetted { figures, thumbnail: Some(picture) })),
        // A machine without OpenGL draws nothing of anybody.
        Err(ExamineError::Draw(why)) if check_rendering(engine).is_err() => {
            tracing::warn!(why, "published without a picture");
            Ok(Ok(Vetted { figures, thumbnail: None }))
        }
        Err(ExamineError::Draw(_)) => {
            let problem = format!(
                "can't be drawn in {PICTURE_CPU_S} s of CPU time and 2 GiB; use smaller meshes and textures, or fewer"
            );
            fault(scene, None, problem)
        }
        Err(error) => Err(error),
    }
}
