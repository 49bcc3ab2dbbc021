//! Files that the records name.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use assay_model::{AccountId, JobId, Sha256Digest};
use assay_store::{ArchiveFiles, Blobs, ModelFiles, RecordsCopy, StoreError};

use super::{BLOBS, BUCKET, MODELS, SCENARIOS, SERVERS};

/// A file that the records name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    /// A policy's archive, by its path in the data folder.
    Policy(String),
    /// Credentials of a job's policy server.
    Call(JobId),
    /// A scenario version, by its digest. The records name its folder, which contains several files.
    Scenario(Sha256Digest),
    /// A complete model of an account, by its digest.
    Model(AccountId, Sha256Digest),
    /// A job's artifact, by its hash.
    Artifact(JobId, Sha256Digest),
}

/// Returns the digest in the path of an archive, or `None` for any other path: a file elsewhere must not be read, or
/// removed with its job.
fn archive_digest(path: &str) -> Option<Sha256Digest> {
    ArchiveFiles::sha256_of(path)
}

impl Named {
    /// Returns all files in `folder`, a data folder or a backup, that the records name. Those in a bucket are left out.
    pub(crate) fn all(records: &RecordsCopy, folder: &Path) -> Result<BTreeSet<Self>, StoreError> {
        let policies = records.policy_paths()?;
        if let Some(path) = policies.iter().find(|path| archive_digest(path).is_none()) {
            let what = std::io::Error::other(format!("{path:?} is not an archive of a data folder"));
            return Err(StoreError::Corrupt { row: "a job".into(), column: "policy_path", source: Arc::new(what) });
        }
        let mut named = BTreeSet::new();
        if !folder.join(BUCKET).exists() {
            named.extend(policies.into_iter().map(Self::Policy));
            named.extend(records.evidence()?.into_iter().map(|(job, sha256)| Self::Artifact(job, sha256)));
        }
        named.extend(records.policy_server_jobs()?.into_iter().map(Self::Call));
        named.extend(records.scenario_digests()?.into_iter().map(Self::Scenario));
        named.extend(records.models()?.into_iter().map(|(account, sha256)| Self::Model(account, sha256)));
        Ok(named)
    }

    /// Returns the possible paths in a data folder, in the order in which to try them: a file moves from the first to
    /// the second.
    pub(crate) fn places(&self) -> Vec<String> {
        match self {
            Self::Policy(path) => vec![path.clone()],
            Self::Call(job) => vec![format!("{SERVERS}/{job}.json")],
            Self::Scenario(digest) => vec![format!("{SCENARIOS}/{digest}/scenario.toml")],
            Self::Model(account, sha256) => {
                vec![format!("{MODELS}/{}", ModelFiles::relative_path(account, *sha256))]
            }
            Self::Artifact(job, sha256) => {
                Blobs::relative_paths(*job, *sha256).map(|place| format!("{BLOBS}/{place}")).to_vec()
            }
        }
    }

    /// Returns the digest in its name, which is that of the unpacked content.
    pub(super) fn sha256(&self) -> Option<Sha256Digest> {
        match self {
            Self::Policy(path) => archive_digest(path),
            Self::Model(_, sha256) | Self::Artifact(_, sha256) => Some(*sha256),
            Self::Call(_) | Self::Scenario(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Sha256Digest, archive_digest};

    #[test]
    fn archives_are_in_their_folder() {
        let digest = Sha256Digest::new([0xab; 32]);
        assert_eq!(archive_digest(&format!("policies/{digest}.zip")), Some(digest));
        let outside = [
            "../victim.txt".to_owned(),
            "/etc/passwd".to_owned(),
            format!("policies/../{digest}.zip"),
            format!("policies/{digest}.zip/x"),
            format!("{digest}.zip"),
            "policies/.zip".to_owned(),
        ];
        for path in outside {
            assert_eq!(archive_digest(&path), None, "{path}");
        }
    }
}
