//! A preflight to run.

use std::sync::Arc;

use assay_model::{PolicyIdentity, Sha256Digest};
use assay_scenario::Scenario;

use crate::PolicySource;

/// A preflight to run.
#[derive(Debug)]
pub struct PreflightJob {
    /// The scenario to try the policy on.
    pub scenario: Arc<Scenario>,
    /// The location of the policy.
    pub policy: PolicySource,
    /// The author's name for it.
    pub policy_name: String,
    /// SHA-256 of its archive; `None` for a server.
    pub policy_sha256: Option<Sha256Digest>,
}

impl PreflightJob {
    pub(super) fn identity(&self) -> PolicyIdentity {
        match self.policy {
            PolicySource::Folder(_) => PolicyIdentity::Measured,
            PolicySource::Server { .. } | PolicySource::Connected { .. } => PolicyIdentity::Declared,
        }
    }

    pub(super) fn replan_steps(&self) -> Option<u32> {
        self.policy.replan_steps()
    }
}
