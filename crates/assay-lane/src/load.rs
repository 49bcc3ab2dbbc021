//! Reads and compiles the scenario of a lane.

use std::sync::Arc;

use assay_scenario::{Scenario, ScenarioError};
use assay_sim::{CompiledScenario, Quality, WorldError};

use crate::Places;

/// The reason why a scenario cannot be run, which is its author's fault.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    World(#[from] WorldError),
}

/// Reads and compiles the scenario for stepping.
pub(crate) fn load(places: &Places) -> Result<CompiledScenario, LoadError> {
    let scenario = Scenario::load(&places.scenario, &places.robots)?;
    Ok(CompiledScenario::build(Arc::new(scenario))?)
}

/// Reads and compiles the scenario for rendering frames of `width` x `height` pixels.
pub(crate) fn load_to_draw(
    places: &Places,
    (width, height): (u32, u32),
    quality: Quality,
) -> Result<CompiledScenario, LoadError> {
    let scenario = Scenario::load(&places.scenario, &places.robots)?;
    Ok(CompiledScenario::build_to_draw(Arc::new(scenario), width, height, quality)?)
}
