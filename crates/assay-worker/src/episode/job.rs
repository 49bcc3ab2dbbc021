//! A job, as its lanes see it.

use std::path::PathBuf;
use std::sync::Arc;

use assay_model::{Record, SeedSource};
use assay_scenario::Scenario;

use crate::episode::policy::PolicySource;

/// A job as its lanes see it.
#[derive(Debug)]
pub struct Job {
    /// The scenario that the policy is evaluated on.
    pub scenario: Arc<Scenario>,
    /// The policy under test.
    pub policy: PolicySource,
    /// The source of the episodes' seeds.
    pub seeds: SeedSource,
    /// The episodes that get a video.
    pub record: Record,
    /// Destination of the evidence, in `episodes/NNN/...`; `None` keeps none.
    pub folder: Option<PathBuf>,
    /// Maximum size of an episode's evidence in bytes; beyond it images are left out ([`assay_model::episode_share`]).
    pub max_episode_bytes: u64,
    /// Records observations and actions as exchanged with the policy, in at most this many bytes per episode; `None`
    /// does not record them.
    pub max_observation_bytes: Option<u64>,
}
