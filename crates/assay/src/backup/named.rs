//! Files that records name.

use std::collections::BTreeSet;

use assay_model::JobId;
use assay_store::{Blobs, RecordsCopy, StoreError};

use super::{BLOBS, SCENARIOS, SERVERS};

/// A file that records name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Named {
    /// A policy's archive, by its path in the data folder.
    Policy(String),
    /// How a job's policy server is called.
    Call(JobId),
    /// A scenario's version, by its digest: its folder has more files.
    Scenario(String),
    /// A job's artifact, by its hash.
    Artifact(JobId, String),
}

impl Named {
    /// All files that the records name.
    pub(super) fn all(records: &RecordsCopy) -> Result<BTreeSet<Self>, StoreError> {
        let mut named: BTreeSet<Self> = records.policies()?.into_iter().map(Self::Policy).collect();
        named.extend(records.calls()?.into_iter().map(Self::Call));
        named.extend(records.scenarios()?.into_iter().map(Self::Scenario));
        named.extend(records.evidence()?.into_iter().map(|(job, sha256)| Self::Artifact(job, sha256)));
        Ok(named)
    }

    /// Where it may lie in a data folder. Later places are looked at later: a file moves from the first to the second.
    pub(super) fn places(&self) -> Vec<String> {
        match self {
            Self::Policy(path) => vec![path.clone()],
            Self::Call(job) => vec![format!("{SERVERS}/{job}.json")],
            Self::Scenario(digest) => vec![format!("{SCENARIOS}/{digest}/scenario.toml")],
            Self::Artifact(job, sha256) => Blobs::places(*job, sha256).map(|place| format!("{BLOBS}/{place}")).to_vec(),
        }
    }

    /// The SHA-256 that its name says, of its content when nothing is packed.
    pub(super) fn sha256(&self) -> Option<&str> {
        match self {
            Self::Policy(path) => path.rsplit('/').next()?.strip_suffix(".zip"),
            Self::Artifact(_, sha256) => Some(sha256),
            Self::Call(_) | Self::Scenario(_) => None,
        }
    }
}
