//! The events of a session.

use assay_model::{Artifact, AttemptNote, EpisodeResult};

use crate::episode::rejection::Rejection;

/// Receives a session's events.
pub(crate) trait SessionEvents: Sync {
    /// `step` of `of` control steps are done.
    fn progress(&self, episode: u32, step: u32, of: u32);
    /// True if an episode is still wanted; called before it begins. If not, the lane's later episodes are not wanted
    /// either.
    fn wanted(&self, _episode: u32) -> bool {
        true
    }
    /// True if [`Self::keep`] packs files, so that the trace should be written uncompressed.
    fn packs(&self) -> bool {
        false
    }
    /// A file of an episode's evidence is at its destination, under its plain name. An error stops the session.
    fn keep(&self, _episode: u32, _file: &Artifact) -> Result<(), Rejection> {
        Ok(())
    }
    /// Records a fact about an episode that outlives the attempt in which it was observed. An error stops the session.
    fn note(&self, _note: &AttemptNote) -> Result<(), Rejection> {
        Ok(())
    }
    /// The policy of an episode fell asleep or woke up. While it sleeps, its lane needs no processor.
    fn sleeping(&self, _episode: u32, _asleep: bool) {}
    /// An episode is complete, with its video if it gets one. An error stops the session.
    fn finished(&self, result: EpisodeResult) -> Result<(), Rejection>;
}
