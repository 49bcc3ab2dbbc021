//! The common interface of the formats: a writer that receives episodes.

use assay_model::RecordingHeader;

use crate::DatasetError;
use crate::job::DatasetEpisode;
use crate::reader::RecordedStep;

/// Receives the steps of episodes, one after the other.
pub(crate) trait EpisodeWriter {
    /// Begins an episode.
    fn begin(&mut self, episode: &DatasetEpisode, header: &RecordingHeader) -> Result<(), DatasetError>;
    /// Adds a step to it.
    fn step(&mut self, step: &RecordedStep<'_>) -> Result<(), DatasetError>;
    /// Ends it.
    fn end(&mut self) -> Result<(), DatasetError>;
    /// Completes the dataset.
    fn finish(self: Box<Self>) -> Result<(), DatasetError>;
}
