//! The check of a scenario before its publication: its worlds, an episode with zero actions, and its picture, in jails
//! with limits of CPU time and sleep.

use assay_model::ErrorChain;
use assay_model::lane::{ScenarioCheck, ScenarioFault};
use assay_scenario::Scenario;

use crate::scenario_check::examine::{check_worlds, thumbnail};
use crate::scenario_check::examine_limits::ExamineLimits;
use crate::{Engine, ExamineError, check_rendering};

/// Limits of compiling, sampling worlds, and the smoke episode.
const CHECK: ExamineLimits = ExamineLimits::new(10, 10);
/// Limits of rendering the picture.
const PICTURE: ExamineLimits = ExamineLimits::new(5, 5);
/// Width and height of the picture in pixels.
const SIZE: (u32, u32) = (512, 384);
/// Minimum ratio of simulated time to CPU time.
const LEAST_REAL_TIME: f64 = 1.0;
/// Maximum number of simultaneous contacts.
const MOST_CONTACTS: u32 = 1000;

/// The result of checking a scenario before its publication.
#[derive(Debug, Clone)]
pub enum PublishCheck {
    /// The scenario can be published.
    Accepted {
        /// Its picture, a PNG; `None` if this machine cannot render.
        thumbnail: Option<Vec<u8>>,
    },
    /// The scenario has a fault that its author has to correct.
    Rejected(ScenarioFault),
}

/// Checks a scenario before its publication.
///
/// # Errors
/// [`ExamineError`]: the check could not be run.
pub fn publish_check(engine: &Engine, scenario: &Scenario) -> Result<PublishCheck, ExamineError> {
    let reject = |problem| {
        let fault = ScenarioFault { file: scenario.world.scene.clone(), key: None, problem };
        Ok(PublishCheck::Rejected(fault))
    };
    let figures = match check_worlds(engine, scenario, CHECK)? {
        ScenarioCheck { fault: Some(fault), .. } => return Ok(PublishCheck::Rejected(fault)),
        checked => checked.figures.ok_or(ExamineError::NothingMeasured)?,
    };
    if figures.real_time_factor < LEAST_REAL_TIME {
        let problem = format!(
            "needs {:.1} s of CPU time for a simulated second; a published scenario needs at most {LEAST_REAL_TIME}: make \
             the world smaller or the timestep longer",
            1.0 / figures.real_time_factor
        );
        return reject(problem);
    }
    if figures.most_contacts > MOST_CONTACTS {
        let problem = format!(
            "has {} contacts at a time, but at most {MOST_CONTACTS} are allowed; exclude pairs that need not collide",
            figures.most_contacts
        );
        return reject(problem);
    }
    match thumbnail(engine, scenario, SIZE, PICTURE) {
        Ok(picture) => Ok(PublishCheck::Accepted { thumbnail: Some(picture) }),
        // Without OpenGL no scenario can be rendered, so this is not the scenario's fault.
        Err(ExamineError::Draw(error)) if check_rendering(engine).is_err() => {
            tracing::warn!(error = %ErrorChain(&error), "could not render a picture: scenario is published without one");
            Ok(PublishCheck::Accepted { thumbnail: None })
        }
        Err(ExamineError::Draw(_)) => {
            let problem = format!(
                "can't be rendered in {} s of CPU time and 2 GiB; use smaller or fewer meshes and textures",
                PICTURE.cpu_s
            );
            reject(problem)
        }
        Err(error) => Err(error),
    }
}
