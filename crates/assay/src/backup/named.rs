//! Files that records name.

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_model::{JobId, Sha256Digest};
use assay_store::{Blobs, RecordsCopy, StoreError};

use super::{BLOBS, POLICIES, SCENARIOS, SERVERS};

/// A file that records name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Named {
    /// A policy's archive, by its path in the data folder.
    Policy(String),
    /// Credentials of a job's policy server.
    Call(JobId),
    /// A scenario's version, by its digest: its folder has more files.
    Scenario(Sha256Digest),
    /// A job's artifact, by its hash.
    Artifact(JobId, Sha256Digest),
}

/// Returns the SHA-256 by which the path of an archive names it. `None` for any other path: such a file would otherwise
/// be read, and removed with its job.
fn archive(path: &str) -> Option<Sha256Digest> {
    path.strip_prefix(POLICIES)?.strip_prefix('/')?.strip_suffix(".zip")?.parse().ok()
}

impl Named {
    /// All files that the records name.
    pub(super) fn all(records: &RecordsCopy) -> Result<BTreeSet<Self>, StoreError> {
        let policies = records.policy_paths()?;
        if let Some(path) = policies.iter().find(|path| archive(path).is_none()) {
            let what = std::io::Error::other(format!("{path:?} is no archive of a data folder"));
            return Err(StoreError::Corrupt { row: "a job".into(), column: "policy_path", source: Arc::new(what) });
        }
        let mut named: BTreeSet<Self> = policies.into_iter().map(Self::Policy).collect();
        named.extend(records.policy_server_jobs()?.into_iter().map(Self::Call));
        named.extend(records.scenario_digests()?.into_iter().map(Self::Scenario));
        named.extend(records.evidence()?.into_iter().map(|(job, sha256)| Self::Artifact(job, sha256)));
        Ok(named)
    }

    /// Where it may lie in a data folder. Later places are looked at later: a file moves from the first to the second.
    pub(super) fn places(&self) -> Vec<String> {
        match self {
            Self::Policy(path) => vec![path.clone()],
            Self::Call(job) => vec![format!("{SERVERS}/{job}.json")],
            Self::Scenario(digest) => vec![format!("{SCENARIOS}/{digest}/scenario.toml")],
            Self::Artifact(job, sha256) => {
                Blobs::relative_paths(*job, *sha256).map(|place| format!("{BLOBS}/{place}")).to_vec()
            }
        }
    }

    /// The SHA-256 that its name says, of its content when nothing is packed.
    pub(super) fn sha256(&self) -> Option<Sha256Digest> {
        match self {
            Self::Policy(path) => archive(path),
            Self::Artifact(_, sha256) => Some(*sha256),
            Self::Call(_) | Self::Scenario(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Sha256Digest, archive};

    #[test]
    fn archives_lie_in_their_folder() {
        let digest = Sha256Digest::new([0xab; 32]);
        assert_eq!(archive(&format!("policies/{digest}.zip")), Some(digest));
        let outside = [
            "../victim.txt".to_owned(),
            "/etc/passwd".to_owned(),
            format!("policies/../{digest}.zip"),
            format!("policies/{digest}.zip/x"),
            format!("{digest}.zip"),
            "policies/.zip".to_owned(),
        ];
        for path in outside {
            assert_eq!(archive(&path), None, "{path}");
        }
    }
}
