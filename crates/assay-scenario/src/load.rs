//! Reads a scenario's folder and performs all checks that do not need a physics engine.

mod actors;
mod conditions;
mod draws;
mod facts;
mod files;
mod grammar;
mod identifiers;
mod images;
pub(crate) mod mjcf;
mod names;
mod signals;

use std::path::Path;

use crate::schema::Document;
use crate::{DEFAULT_RENDER_PROFILE, Scenario, ScenarioError, Signal};

impl Scenario {
    /// Reads the scenario in a folder given by a user. Like [`Self::load`], but the id must also be the name of the
    /// folder, and the scenario must comply with [`Self::check_rates`].
    ///
    /// # Errors
    /// [`ScenarioError`] names file, key and remedy.
    pub fn load_named(folder: &Path, robots_folder: &Path) -> Result<Self, ScenarioError> {
        let scenario = Self::load(folder, robots_folder)?;
        let name = folder.file_name().unwrap_or_default();
        if name == scenario.id.as_str() {
            scenario.check_rates()?;
            return Ok(scenario);
        }
        let name = name.to_string_lossy();
        let problem = format!(
            "is {:?}, but the folder is called {name:?}; rename the folder to the id, or change the id to the folder's name",
            scenario.id.as_str()
        );
        Err(ScenarioError::value("id", problem))
    }

    /// Checks that the rates of images divide the control rate. Versions stored by earlier releases may have other
    /// rates up to [`crate::DEFAULT_IMAGE_HZ`]; their images are drawn at the first control step at which they are due.
    ///
    /// # Errors
    /// [`ScenarioError`] names the observation and the nearest rates.
    pub fn check_rates(&self) -> Result<(), ScenarioError> {
        images::check_rates(&self.observations, self.world.control_hz)
    }

    /// Reads the scenario in `folder`, regardless of the folder's name, with robots from `robots_folder`.
    ///
    /// # Errors
    /// [`ScenarioError`] names file, key and remedy.
    pub fn load(folder: &Path, robots_folder: &Path) -> Result<Self, ScenarioError> {
        let path = folder.join("scenario.toml");
        let document: Document = files::parse(&path, "it defines the scenario")?;
        facts::check_facts(&document)?;
        files::check_scene(folder, &document.world.scene)?;
        mjcf::check(folder, &document.world.scene)?;
        let load_robot = |(index, entry)| files::load_robot(index, entry, robots_folder);
        let robots = document.robot.iter().enumerate().map(load_robot).collect::<Result<Vec<_>, _>>()?;
        let signals: Vec<(String, Signal)> = document.signals.clone().into_iter().collect();
        let names: Vec<String> =
            std::iter::once("time".to_owned()).chain(signals.iter().map(|(name, _)| name.clone())).collect();
        facts::check_control(&document, &robots)?;
        names::check_names(&document, &robots)?;
        images::check_images(&document)?;
        images::check_render_profile(&document)?;
        let parameters = draws::parameters(&document.parameters)?;
        let drawn = draws::check_draws(&document)?;
        actors::check_actors(&document, &drawn)?;
        let digest =
            crate::digest(folder, &robots).map_err(|source| ScenarioError::Read { path: folder.into(), source })?;
        Ok(Self {
            id: document.id.parse().map_err(|e| ScenarioError::value("id", format!("{e}")))?,
            stages: conditions::stages(&document, &names)?,
            success: conditions::success(&document, &names)?,
            clauses: conditions::clauses(&document, &names)?,
            version: document.version,
            name: document.name,
            description: document.description,
            long_description: files::read_text(&folder.join("README.md"), "it describes the task to policy authors")?,
            instruction: document.instruction,
            difficulty: document.difficulty,
            max_score: document.max_score,
            time_limit_s: document.time_limit_s,
            tags: document.tags,
            render_profile: document.render_profile.unwrap_or(DEFAULT_RENDER_PROFILE),
            world: document.world,
            robots,
            groups: document.groups,
            control: document.control,
            parameters,
            placements: document.placement,
            sets: document.set.into_iter().map(|entry| (entry.target, entry.value)).collect(),
            disturbances: document.disturbance,
            actors: document.actor,
            observations: document.observation,
            signals,
            budget: document.budget,
            arena: document.arena,
            camera: document.camera,
            digest,
            folder: folder.to_owned(),
            robots_folder: robots_folder.to_owned(),
        })
    }
}
