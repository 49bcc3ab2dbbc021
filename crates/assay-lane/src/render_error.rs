//! Failures of the rendering processes.

use crate::load::LoadError;
use crate::{LogError, RerunError, TraceFileError, VideoError};

/// The reason why an episode cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum EpisodeRenderError {
    /// The job's file cannot be read, or the answer cannot be written.
    #[error("the order or the answer")]
    Job(#[source] std::io::Error),
    /// The job is invalid.
    #[error("an order that makes no sense: {0}")]
    Senseless(String),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceFileError),
    /// The scenario cannot be loaded.
    #[error("the scenario: {0}")]
    Scenario(String),
    /// Rendering failed.
    #[error(transparent)]
    Draw(#[from] assay_sim::RenderError),
    /// OpenGL rendered an empty picture.
    #[error("OpenGL drew an empty picture")]
    Blank,
    /// The recording could not be replayed.
    #[error(transparent)]
    Rerun(#[from] RerunError),
    /// The log could not be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Encoding failed.
    #[error(transparent)]
    Video(#[from] VideoError),
}

impl From<LoadError> for EpisodeRenderError {
    fn from(error: LoadError) -> Self {
        Self::Scenario(error.to_string())
    }
}
