//! Errors of building a world, and of unstable physics.

/// A scenario that is rejected by MuJoCo or by assay's limits.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The MJCF does not compile.
    #[error("{file}: {message}")]
    Mjcf {
        /// The file, relative to the scenario or robot folder.
        file: String,
        /// MuJoCo's message.
        message: String,
    },
    /// `scenario.toml` refers to something that the compiled world does not contain.
    #[error("scenario.toml: {key}: there is no {what}")]
    Missing {
        /// Key of the reference.
        key: String,
        /// The missing element, for example `site "arm/tcp"`.
        what: String,
    },
    /// The physics steps of the scene and of the scenario differ.
    #[error(
        "scenario.toml: world.timestep_s: is {scenario_s} s, but the scene's <option timestep> is {scene_s} s (0.002 s if \
         it is not set); make them the same"
    )]
    Timestep {
        /// Step of the scenario in s.
        scenario_s: f64,
        /// Step of the scene in s.
        scene_s: f64,
    },
    /// A drawn number that is invalid for its target.
    #[error("scenario.toml: set: {what} can't be {value}; correct the value or its distribution")]
    OutOfRange {
        /// The target of the setting.
        what: String,
        /// The number.
        value: f64,
    },
    /// A group that matches no geom.
    #[error("scenario.toml: groups.{0}: no geom or body matches")]
    EmptyGroup(String),
    /// The compiled world is larger than allowed.
    #[error("scene: {what} is {value}, more than the {limit} allowed")]
    TooLarge {
        /// The counted quantity.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// A number in the compiled world is not finite.
    #[error("scene: {0} is not a finite number")]
    NotFinite(&'static str),
    /// The episode's draw failed.
    #[error(transparent)]
    Draw(#[from] assay_scenario::DrawError),
    /// The start state is already unstable.
    #[error("the start state is unstable")]
    UnstableStart(#[source] Unstable),
}

impl WorldError {
    /// Returns the file at fault, and the key in it if there is one.
    #[must_use]
    pub fn place(&self) -> (String, Option<String>) {
        let toml = |key: &str| ("scenario.toml".to_owned(), Some(key.to_owned()));
        match self {
            Self::Mjcf { file, .. } => (file.clone(), None),
            Self::Missing { key, .. } => toml(key),
            Self::Timestep { .. } => toml("world.timestep_s"),
            Self::OutOfRange { .. } => toml("set"),
            Self::EmptyGroup(group) => toml(&format!("groups.{group}")),
            Self::TooLarge { .. } | Self::NotFinite(_) | Self::UnstableStart(_) => ("scene".to_owned(), None),
            Self::Draw(assay_scenario::DrawError::Crowded { .. }) => toml("placement"),
            Self::Draw(assay_scenario::DrawError::Expression { .. }) => toml("set"),
            Self::Draw(assay_scenario::DrawError::Motion { .. }) => toml("actors"),
        }
    }
}

/// The physics became unstable; everything after this time is meaningless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MuJoCo warned of {kind} (at {what} {index})")]
pub struct Unstable {
    /// MuJoCo's name of the warning.
    pub kind: &'static str,
    /// The kind of element that `index` counts.
    pub what: &'static str,
    /// Index of the degree of freedom or buffer.
    pub index: i32,
}
