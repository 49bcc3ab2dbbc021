//! A dataset to write.

use std::path::PathBuf;

use serde::Serialize;

use crate::format::DatasetFormat;

/// A recorded episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DatasetEpisode {
    /// Index of the episode in its job.
    pub episode: u32,
    /// Seed that the policy received.
    pub seed: u64,
    /// True if the episode succeeded at its task.
    pub success: bool,
    /// The recording.
    #[serde(skip)]
    pub recording: PathBuf,
}

/// A dataset to write.
#[derive(Debug)]
pub struct DatasetJob<'a> {
    /// Format of the dataset.
    pub format: DatasetFormat,
    /// The recorded episodes, at least one, in the order of the dataset.
    pub episodes: &'a [DatasetEpisode],
    /// Arrays of numbers that form `observation.state` of a LeRobot dataset, in order; `None` for all of them.
    pub state: Option<&'a [String]>,
    /// Arrays of numbers that form `observation.environment_state`; `None` for those of the state if there are no
    /// images, because LeRobot's policies need either, and otherwise for none.
    pub environment: Option<&'a [String]>,
    /// Name of the robot.
    pub robot: Option<&'a str>,
    /// Origin of the recordings, written to `assay.json` besides the episodes.
    pub origin: serde_json::Value,
}
