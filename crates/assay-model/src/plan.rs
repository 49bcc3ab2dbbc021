//! The plan of a job, fixed before its first episode.

use serde::{Deserialize, Serialize};

use crate::{EpisodeResult, episodes_needed};

/// The request for a job, apart from policy and scenario.
///
/// With a `target` the job is a certification: a plan without failures, fixed in advance and ended by the first
/// failure. There are no interim decisions: checking after every episode and stopping at a convenient moment would pass
/// far more bad policies than the confidence level allows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Episodes to run.
    pub episodes: u32,
    /// Violation probability to certify, if any, in (0, 1).
    pub target: Option<f64>,
    /// One-sided confidence level, in (0, 1).
    pub confidence_level: f64,
    /// The scenario's own bound on the violation probability: `episodes_needed` refers to it when no target is given.
    pub max_violation_probability: f64,
}

impl Plan {
    /// Episodes of a job that names no number and has no target.
    pub const DEFAULT_EPISODES: u32 = 3;
    /// Confidence level of a job that names none.
    pub const DEFAULT_CONFIDENCE_LEVEL: f64 = 0.95;

    /// Episodes of a job that names none: what its target needs, or else `otherwise`.
    #[must_use]
    pub fn default_episodes(target: Option<f64>, confidence_level: f64, otherwise: u32) -> u32 {
        target.map_or(otherwise, |p0| episodes_needed(p0, confidence_level))
    }

    /// Returns a warning if the plan cannot reach its target even without a failure.
    #[must_use]
    pub fn shortfall(&self) -> Option<String> {
        let target = self.target?;
        let needed = episodes_needed(target, self.confidence_level);
        (self.episodes < needed).then(|| {
            format!(
                "{} episodes cannot certify a violation probability of {target} at {} confidence: {needed} are needed",
                self.episodes, self.confidence_level
            )
        })
    }

    /// This result ends the job: a certification, and an episode that broke a critical clause or left one open.
    #[must_use]
    pub fn ends_with(&self, episode: &EpisodeResult) -> bool {
        self.target.is_some() && !episode.is_clean()
    }

    /// The episodes that count, of those in `episodes` (by index): of a certification all up to its first failure.
    /// Lanes may have gone further by then; what they found is not looked at, so their number does not matter. Episodes
    /// behind the plan's (the arena's showcase) never count.
    #[must_use]
    pub fn counted<'a>(&self, episodes: &'a [EpisodeResult]) -> &'a [EpisodeResult] {
        let planned = episodes.iter().take_while(|e| e.episode < self.episodes).count();
        let episodes = &episodes[..planned];
        let end = episodes.iter().position(|e| self.ends_with(e)).map_or(episodes.len(), |failure| failure + 1);
        &episodes[..end]
    }
}
