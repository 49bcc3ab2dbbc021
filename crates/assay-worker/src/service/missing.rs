//! Scenario versions whose files this machine does not have: their jobs wait, and each version is logged once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use assay_model::{Assignment, Sha256Digest};

use crate::ScenarioGone;

/// Maximum number of versions remembered; others are logged at every attempt.
const MAX_DIGESTS: usize = 256;

/// Digests of versions that are missing.
#[derive(Debug, Default)]
pub(super) struct Missing(Mutex<BTreeSet<Sha256Digest>>);

impl Missing {
    /// Records the outcome of loading the scenario of `shard`: `gone` is the reason if it was not found.
    pub(super) fn note(&self, shard: &Assignment, gone: Option<&ScenarioGone>) {
        let mut digests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (digest, version) = (&shard.scenario_digest, &shard.scenario_version);
        match gone {
            Some(error @ ScenarioGone::Missing(_)) => {
                if !digests.contains(digest) {
                    tracing::error!(
                        scenario.version = version,
                        scenario.digest = %digest,
                        "{error}: its jobs wait; put the folder scenarios/DIGEST of a backup into the data folder"
                    );
                }
                if digests.len() < MAX_DIGESTS {
                    digests.insert(*digest);
                }
            }
            _ if digests.remove(digest) => {
                tracing::warn!(scenario.id = %shard.scenario, scenario.version = version, "scenario files are available again");
            }
            _ => {}
        }
    }

    pub(super) fn has(&self, digest: Sha256Digest) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&digest)
    }
}
