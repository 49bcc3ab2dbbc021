//! Errors of the rendering processes.

use crate::load::LoadError;
use crate::{LogError, RerunError, TraceFileError, VideoError};

/// The reason why an episode cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum EpisodeRenderError {
    /// The job's file cannot be read, or the answer cannot be written.
    #[error("could not read the job or write the answer")]
    Job(#[source] std::io::Error),
    /// The job is invalid.
    #[error("the job is invalid: {0}")]
    Senseless(String),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceFileError),
    /// The scenario cannot be loaded.
    #[error("could not load the scenario: {0}")]
    Scenario(String),
    /// Rendering failed.
    #[error(transparent)]
    Draw(#[from] assay_sim::RenderError),
    /// OpenGL rendered an empty picture.
    #[error("OpenGL rendered an empty picture")]
    Blank,
    /// The recording could not be replayed.
    #[error(transparent)]
    Rerun(#[from] RerunError),
    /// The log could not be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The font of the captions is invalid.
    #[error("the font of the captions is invalid")]
    Font(#[from] ab_glyph::InvalidFont),
    /// Encoding failed.
    #[error(transparent)]
    Video(#[from] VideoError),
}

impl From<LoadError> for EpisodeRenderError {
    fn from(error: LoadError) -> Self {
        Self::Scenario(error.to_string())
    }
}
