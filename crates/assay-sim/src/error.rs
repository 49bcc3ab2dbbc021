//! Errors of worlds that cannot be built, and the end of a simulation by its physics.

/// A scenario that MuJoCo or our limits refuse.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The MJCF does not compile.
    #[error("{file}: {message}")]
    Mjcf {
        /// The file, relative to the scenario or robot folder.
        file: String,
        /// MuJoCo's words.
        message: String,
    },
    /// `scenario.toml` speaks of something that the compiled world does not have.
    #[error("scenario.toml: {key}: there is no {what}")]
    Missing {
        /// Where it is spoken of.
        key: String,
        /// For example `site "arm/tcp"`.
        what: String,
    },
    /// The physics step of the scene is not the scenario's.
    #[error(
        "scenario.toml: world.timestep_s: is {scenario_s} s, but the scene's <option timestep> is {scene_s} s (0.002 s where \
         it says nothing); make them the same"
    )]
    Timestep {
        /// The scenario's, in s.
        scenario_s: f64,
        /// The scene's, in s.
        scene_s: f64,
    },
    /// A drawn number that makes no sense where it is set.
    #[error("scenario.toml: set: {what} can't be {value}; correct the value or what it is drawn from")]
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
    /// The file at fault, and the key in it where there is one.
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

/// The physics went wrong; nothing after this moment means anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MuJoCo warned of {kind} (at {what} {index})")]
pub struct Unstable {
    /// MuJoCo's name of the warning.
    pub kind: &'static str,
    /// The things that `index` counts.
    pub what: &'static str,
    /// Degree of freedom or buffer.
    pub index: i32,
}
