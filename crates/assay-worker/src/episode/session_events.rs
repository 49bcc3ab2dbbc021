//! The events of a session.

use assay_model::{Artifact, AttemptNote, EpisodeResult};

use crate::episode::rejection::Rejection;

/// Receives a session's events.
pub(crate) trait SessionEvents: Sync {
    /// `step` of `of` control steps are done.
    fn progress(&self, episode: u32, step: u32, of: u32);
    /// Returns true if an episode is still wanted; called before it begins. If not, the lane's later ones are not
    /// wanted either.
    fn wanted(&self, _episode: u32) -> bool {
        true
    }
    /// Returns true if [`Self::keep`] packs files, so that the trace should be written uncompressed.
    fn packs(&self) -> bool {
        false
    }
    /// Called when a file of an episode's evidence is at its destination, under its plain name. An error stops the
    /// session.
    fn keep(&self, _episode: u32, _file: &Artifact) -> Result<(), Rejection> {
        Ok(())
    }
    /// Records a fact about an episode that outlives the attempt in which it was observed. An error stops the session.
    fn note(&self, _note: &AttemptNote) -> Result<(), Rejection> {
        Ok(())
    }
    /// Called when the policy of an episode falls asleep or wakes up. While it sleeps, its lane needs no processor.
    fn sleeping(&self, _episode: u32, _asleep: bool) {}
    /// Called when an episode is complete, with its video if it gets one. An error stops the session.
    fn finished(&self, result: EpisodeResult) -> Result<(), Rejection>;
}
