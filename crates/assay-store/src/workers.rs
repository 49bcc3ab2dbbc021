//! Workers on other hosts: who may claim work, from where, and in which state it is.

use std::fmt;

use assay_model::{JobId, ReplacementReason, Sha256Digest, WorkerRegistration};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::{StoreError, Work};

/// The name of a worker: `[a-z0-9][a-z0-9-]{0,62}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerName(String);

/// Maximum length of a worker's name, in bytes: that of a host name's label.
const MAX_NAME_BYTES: usize = 63;

/// Maximum length of a quarantine's reason, in bytes.
pub(crate) const MAX_QUARANTINE_REASON_BYTES: usize = 1024;
/// Message of a certification that ended at a result which was discarded.
pub(crate) const ENDED_BY_DISCARDED: &str = "the episode at which it ended has to run again; submit the job again";

/// The reason for which results are discarded, and its description.
pub(crate) type Discarding = (ReplacementReason, &'static str);

/// Results of a worker in quarantine.
pub(crate) const QUARANTINE: Discarding =
    (ReplacementReason::WorkerQuarantined, "the worker that ran it reported what is not true, and was quarantined");
/// Results of a machine that is gone.
pub(crate) const GONE: Discarding =
    (ReplacementReason::MachineGone, "no worker is left with the processor and the libraries that ran it");

impl WorkerName {
    /// Parses a name, checking its alphabet and length.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=MAX_NAME_BYTES).contains(&text.len()) && !text.starts_with('-');
        let valid = fits && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        valid.then(|| Self(text.to_owned()))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name under which its leases are recorded. It differs from those of lanes inside servers.
    #[must_use]
    pub fn lease_holder(&self) -> String {
        format!("host/{}", self.0)
    }
}

impl fmt::Display for WorkerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// State of a worker, which decides whether it may claim work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerState {
    /// It may.
    Active,
    /// It finishes what it runs, and gets nothing new.
    Draining,
    /// Its token is refused.
    Revoked,
    /// It reported what is not true; its token is refused.
    Quarantined {
        /// The finding, for the operator.
        reason: String,
    },
}

impl WorkerState {
    /// Returns the state's name: `ACTIVE`, `DRAINING`, `REVOKED` or `QUARANTINED`.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Draining => "DRAINING",
            Self::Revoked => "REVOKED",
            Self::Quarantined { .. } => "QUARANTINED",
        }
    }

    /// Parses the output of [`Self::as_str`]; `reason` is that of a quarantine.
    #[must_use]
    pub fn parse(name: &str, reason: Option<String>) -> Option<Self> {
        match name {
            "ACTIVE" => Some(Self::Active),
            "DRAINING" => Some(Self::Draining),
            "REVOKED" => Some(Self::Revoked),
            "QUARANTINED" => Some(Self::Quarantined { reason: reason.unwrap_or_default() }),
            _ => None,
        }
    }

    /// Returns true if its token is accepted.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        matches!(self, Self::Active | Self::Draining)
    }
}

/// A worker on another host.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerRecord {
    /// Its name.
    pub name: WorkerName,
    /// True if it may run the secret worlds of seasons.
    pub trusted: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time from which its token is refused.
    pub expires_at: Option<Timestamp>,
    /// Its state.
    pub state: WorkerState,
    /// Time of the last change of its state.
    pub state_since: Timestamp,
    /// Number of its registrations; leases belong to the latest.
    pub generation: u32,
    /// Its latest registration.
    pub registration: Option<WorkerRegistration>,
    /// Time of its last call, to about a minute.
    pub seen_at: Option<Timestamp>,
    /// Number of shards that it holds.
    pub shards: u32,
}

impl WorkerRecord {
    /// Returns true if its token is accepted at `now`.
    #[must_use]
    pub fn is_admitted(&self, now: Timestamp) -> bool {
        self.state.is_admitted() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// A worker to be created.
#[derive(Debug, Clone)]
pub struct NewWorker {
    /// Its name.
    pub name: WorkerName,
    /// SHA-256 of its token.
    pub token_hash: Sha256Digest,
    /// True if it may run the secret worlds of seasons.
    pub trusted: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time from which its token is refused.
    pub expires_at: Option<Timestamp>,
}

/// Result of a worker's revocation or quarantine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkerRemoval {
    /// The shards that it held; they are queued again, and its leases are void.
    pub requeued: Vec<Work>,
    /// Episodes of unfinished jobs whose results were discarded, to be run again.
    pub discarded: Vec<(JobId, u32)>,
    /// Episodes that it ran of jobs that have a verdict already.
    pub concluded: Vec<(JobId, u32)>,
}

/// Repository of workers on other hosts.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait WorkerRecords {
    /// Creates a worker; [`StoreError::Exists`] if its name was ever given.
    async fn create_worker(&self, worker: NewWorker) -> Result<(), StoreError>;

    /// Returns the worker with this token, in any state.
    async fn worker_with_token(&self, token_hash: Sha256Digest) -> Result<Option<WorkerRecord>, StoreError>;

    /// Returns the worker with this name, in any state.
    async fn worker_named(&self, name: &WorkerName) -> Result<Option<WorkerRecord>, StoreError>;

    /// Lists all workers by name.
    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError>;

    /// Registers a worker that starts, and requeues the shards that its earlier process held. Returns the number of the
    /// registration, and those shards; `None` if there is no such worker or its token is refused.
    async fn register_worker(
        &self,
        name: &WorkerName,
        registration: WorkerRegistration,
        now: Timestamp,
    ) -> Result<Option<(u32, Vec<Work>)>, StoreError>;

    /// Ends a registration: its leases are void, and its shards are queued again. Has no effect on a later one.
    async fn leave_worker(&self, name: &WorkerName, generation: u32, now: Timestamp) -> Result<Vec<Work>, StoreError>;

    /// Sets the time of a worker's last call.
    async fn touch_worker(&self, name: &WorkerName, now: Timestamp) -> Result<(), StoreError>;

    /// Lets a worker finish what it runs and claim nothing new, or (`drain` false) claim again. Returns false if it is
    /// neither active nor draining.
    async fn drain_worker(&self, name: &WorkerName, drain: bool, now: Timestamp) -> Result<bool, StoreError>;

    /// Refuses a worker's token from now on, and queues its shards again. `None` if there is no such worker. One that
    /// is quarantined already stays so.
    async fn revoke_worker(&self, name: &WorkerName, now: Timestamp) -> Result<Option<WorkerRemoval>, StoreError>;

    /// Like [`Self::revoke_worker`], for a worker that reported what is not true: also discards the results that it
    /// wrote for jobs that are still running, so that their episodes run again.
    async fn quarantine_worker(
        &self,
        name: &WorkerName,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<WorkerRemoval>, StoreError>;

    /// Runs again the episodes of running jobs that are pinned to none of these machines: they were upgraded or are
    /// gone. Also unpins jobs that no worker runs and that have no episode yet. Returns the shards queued for it.
    async fn unpin_jobs(&self, machines: &[Sha256Digest], now: Timestamp) -> Result<Vec<Work>, StoreError>;

    /// Returns the episodes that a worker ran, newest job first, at most `limit`.
    async fn episodes_of_worker(&self, name: &WorkerName, limit: u32) -> Result<Vec<(JobId, u32)>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::WorkerName;

    #[test]
    fn names_are_labels_of_hosts() {
        let is_name = |text: &str| WorkerName::parse(text).is_some();
        assert!(is_name("a") && is_name("gpu-07") && is_name(&"x".repeat(63)));
        for wrong in ["", "-a", "A", "a_b", "a/b", "a b", "ä", &"x".repeat(64)] {
            assert!(!is_name(wrong), "{wrong}");
        }
    }
}
