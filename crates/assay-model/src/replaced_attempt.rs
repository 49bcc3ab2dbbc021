//! An attempt at an episode that was replaced by another, with the reason and the evidence.

use serde::{Deserialize, Serialize};

/// Maximum length of the evidence of a replaced attempt, in bytes.
pub const MAX_EVIDENCE_BYTES: usize = 512;

/// Reason for replacing an attempt, based on evidence from outside the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplacementReason {
    /// The simulator's process ended before the episode did.
    LaneDied,
    /// The policy's process was stopped or frozen by another process.
    PolicyStopped,
    /// The policy's process was killed by another process, or because the machine was out of memory.
    PolicyKilled,
    /// The worker's lease expired: the worker was killed, lost its connection or was too late.
    LeaseExpired,
    /// The service stopped while the episode ran.
    ServiceStopped,
    /// The episode's evidence or result could not be stored.
    Outage,
    /// The worker on another host that ran it reported what is not true.
    WorkerQuarantined,
    /// A worker on another host reported that it failed, which no trace shows, and no other host had confirmed.
    Unconfirmed,
    /// No machine is left with the fingerprint of the one that ran it.
    MachineGone,
}

impl ReplacementReason {
    /// Returns a description for the log.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::LaneDied => "the simulator died",
            Self::PolicyStopped => "another process stopped the policy",
            Self::PolicyKilled => "another process killed the policy",
            Self::LeaseExpired => "its worker's lease expired",
            Self::ServiceStopped => "the service stopped",
            Self::Outage => "its evidence or result could not be stored",
            Self::WorkerQuarantined => "its worker was quarantined",
            Self::Unconfirmed => "only one worker reported that it failed",
            Self::MachineGone => "its machine is gone",
        }
    }
}

/// An attempt at an episode that was replaced by another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReplacedAttempt {
    /// Index of the episode in the job.
    pub episode: u32,
    /// Reason for the replacement.
    pub reason: ReplacementReason,
    /// The evidence, and the process that observed it.
    pub evidence: String,
}

impl ReplacedAttempt {
    /// Creates a record of an attempt at `episode`, with its evidence sanitised and truncated to
    /// [`MAX_EVIDENCE_BYTES`].
    #[must_use]
    pub fn new(episode: u32, reason: ReplacementReason, evidence: &str) -> Self {
        Self { episode, reason, evidence: crate::sanitise(evidence, MAX_EVIDENCE_BYTES) }
    }
}
