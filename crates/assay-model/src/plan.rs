//! Plan of a job, fixed before its first episode.

use serde::{Deserialize, Serialize};

use crate::{EpisodeResult, episodes_needed};

/// Parameters of a job, apart from policy and scenario.
///
/// With a `target` the job is a certification: a plan that allows no failure, fixed in advance and ended by the first
/// failure. There are no interim decisions: checking after every episode and stopping at a favourable time would pass
/// far more bad policies than the confidence level allows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Plan {
    /// Number of episodes to run.
    pub episodes: u32,
    /// Violation probability to certify, in (0, 1); `null` without a certification.
    pub target: Option<f64>,
    /// One-sided confidence level, in (0, 1).
    pub confidence_level: f64,
    /// The scenario's own bound on the violation probability, to which `episodes_needed` refers without a target.
    pub max_violation_probability: f64,
    /// False if the scenario draws nothing: all episodes are then one observation of one world, whatever the policy's
    /// own randomness does. True in plans of earlier versions.
    #[serde(default = "drawn")]
    pub draws_worlds: bool,
}

/// Reason why a scenario that draws nothing cannot be certified.
pub const NOTHING_DRAWN: &str = "the scenario draws nothing, so all episodes are one observation of one world, and \
     certify nothing; give a parameter that reaches the world a range of values, or leave out the target";

fn drawn() -> bool {
    true
}

impl Plan {
    /// Number of episodes of a job without a given number and without a target.
    pub const DEFAULT_EPISODES: u32 = 3;
    /// Confidence level of a job without a given one.
    pub const DEFAULT_CONFIDENCE_LEVEL: f64 = 0.95;

    /// Returns the number of episodes of a job without a given number: the number that its target needs, or
    /// `otherwise`.
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

    /// Returns the reason why the plan must not be started: a certification of a scenario that draws nothing.
    #[must_use]
    pub fn refusal(&self) -> Option<&'static str> {
        (self.target.is_some() && !self.draws_worlds).then_some(NOTHING_DRAWN)
    }

    /// Returns the number of independent observations among `episodes` episodes: each, or one if the scenario draws
    /// nothing.
    #[must_use]
    pub fn sample_size(&self, episodes: u32) -> u32 {
        if self.draws_worlds { episodes } else { episodes.min(1) }
    }

    /// Returns whether this result ends the job: in a certification, any episode that is not clean.
    #[must_use]
    pub fn ends_with(&self, episode: &EpisodeResult) -> bool {
        self.target.is_some() && !episode.is_clean()
    }

    /// Returns the episodes of `episodes` (ordered by index) that count: in a certification, all up to its first
    /// failure. Lanes may have run further episodes by then; these are ignored, so that the result does not depend on
    /// the number of lanes. Episodes beyond the plan's number (the arena's showcase) never count.
    #[must_use]
    pub fn counted<'a>(&self, episodes: &'a [EpisodeResult]) -> &'a [EpisodeResult] {
        let planned = episodes.iter().take_while(|e| e.episode < self.episodes).count();
        let episodes = &episodes[..planned];
        let end = episodes.iter().position(|e| self.ends_with(e)).map_or(episodes.len(), |failure| failure + 1);
        &episodes[..end]
    }
}
