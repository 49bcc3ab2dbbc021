//! Errors of the stepping process.

use std::io;

use assay_sim::WorldError;

use crate::evidence::EvidenceError;

/// The reason why a lane ends early: an internal error, never the policy's fault.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The control socket failed.
    #[error("the control socket failed")]
    Control(#[from] io::Error),
    /// The run command has no policy stream.
    #[error("the run command is invalid: {0}")]
    Command(&'static str),
    /// The evidence could not be written.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The world could not be rebuilt.
    #[error(transparent)]
    World(#[from] WorldError),
    /// An image of the observation could not be rendered.
    #[error(transparent)]
    Draw(#[from] assay_sim::RenderError),
}
