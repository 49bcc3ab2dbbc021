//! Credentials of jobs' policy servers: address and key, which are secrets of the job's owner.
//!
//! They are stored apart from the records, one file per job, readable by the service's user only. A database keeps
//! deleted text in free pages, in its log and in copies; a removed file is gone. Credentials are durable before their
//! job is accepted, so they survive a restart, and are removed when the job ends.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use assay_model::{JobId, Secret};
use serde::{Deserialize, Serialize};

/// The address and key of a job's policy server.
#[derive(Debug, Clone)]
pub struct PolicyServerCredentials {
    /// Its full address; the query may contain a token.
    pub url: Secret,
    /// Its API key.
    pub api_key: Option<Secret>,
    /// Maximum number of simultaneous connections, at least 1.
    pub concurrency: u32,
}

/// The way to the policy server of a job.
#[derive(Debug, Clone)]
pub enum PolicyServerAccess {
    /// The service calls it.
    Call(PolicyServerCredentials),
    /// It connects to the service.
    Connects,
}

/// [`PolicyServerAccess`] as stored in its file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum AccessFile {
    Call { url: String, api_key: Option<String>, concurrency: u32 },
    Connects { connects: bool },
}

/// The folder of credentials.
#[derive(Debug, Clone)]
pub struct PolicyServerCredentialsStore(PathBuf);

impl PolicyServerCredentialsStore {
    /// Opens the credentials in `folder`, creating it with mode 0700 if needed.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn folder(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self(folder.to_owned()))
    }

    /// Stores a job's credentials; they are durable when this returns.
    ///
    /// # Errors
    /// They cannot be written. No file is left in this case.
    pub fn put(&self, job: JobId, access: &PolicyServerAccess) -> io::Result<()> {
        let written = match access {
            PolicyServerAccess::Call(call) => AccessFile::Call {
                url: call.url.reveal().to_owned(),
                api_key: call.api_key.as_ref().map(|key| key.reveal().to_owned()),
                concurrency: call.concurrency,
            },
            PolicyServerAccess::Connects => AccessFile::Connects { connects: true },
        };
        let text = serde_json::to_vec(&written)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path(job))?;
        let mut write = || {
            file.write_all(&text)?;
            file.sync_all()?;
            File::open(&self.0)?.sync_all()
        };
        write().inspect_err(|_| drop(self.remove(job)))
    }

    /// Returns a job's credentials; `None` if there are none, or they were removed.
    ///
    /// # Errors
    /// They cannot be read. The error never contains them.
    pub fn get(&self, job: JobId) -> io::Result<Option<PolicyServerAccess>> {
        let text = match fs::read(self.path(job)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let unreadable =
            |_| io::Error::new(ErrorKind::InvalidData, "the stored credentials of a policy server are invalid");
        Ok(Some(match serde_json::from_slice(&text).map_err(unreadable)? {
            AccessFile::Call { url, api_key, concurrency } => PolicyServerAccess::Call(PolicyServerCredentials {
                url: Secret::new(url),
                api_key: api_key.map(Secret::new),
                concurrency,
            }),
            AccessFile::Connects { .. } => PolicyServerAccess::Connects,
        }))
    }

    /// Removes a job's credentials, if there are any.
    ///
    /// # Errors
    /// They cannot be removed.
    pub fn remove(&self, job: JobId) -> io::Result<()> {
        match fs::remove_file(self.path(job)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Lists the jobs with stored credentials, and the time of storing them.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<(JobId, SystemTime)>> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let job = entry.file_name().to_str().and_then(|name| name.strip_suffix(SUFFIX)?.parse().ok());
            if let (Some(job), Ok(metadata)) = (job, entry.metadata()) {
                kept.push((job, metadata.modified()?));
            }
        }
        Ok(kept)
    }

    fn path(&self, job: JobId) -> PathBuf {
        self.0.join(format!("{job}{SUFFIX}"))
    }
}

const SUFFIX: &str = ".json";

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn credentials_are_readable_by_their_owner_only_until_they_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let calls = PolicyServerCredentialsStore::folder(&folder.path().join("servers")).unwrap();
        let job: JobId = "01936f3c-8d2e-7c41-9f0a-5b6c7d8e9f01".parse().unwrap();
        let call = PolicyServerAccess::Call(PolicyServerCredentials {
            url: Secret::new("wss://policy.test/?token=t-1"),
            api_key: Some(Secret::new("k-1")),
            concurrency: 4,
        });
        assert!(calls.get(job).unwrap().is_none());
        calls.put(job, &call).unwrap();
        let path = folder.path().join("servers").join(format!("{job}.json"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let Some(PolicyServerAccess::Call(found)) = calls.get(job).unwrap() else { panic!("not called") };
        let (url, key) = (found.url.reveal(), found.api_key.as_ref().unwrap().reveal());
        assert_eq!((url, key), ("wss://policy.test/?token=t-1", "k-1"));
        assert_eq!(found.concurrency, 4);
        assert_eq!(calls.list().unwrap().iter().map(|(job, _)| *job).collect::<Vec<_>>(), [job]);
        // A second file for a job is an error, and leaves the first one unchanged.
        assert_eq!(calls.put(job, &call).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert!(calls.get(job).unwrap().is_some());
        fs::write(&path, "no call: k-1").unwrap();
        let error = calls.get(job).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("k-1"));
        calls.remove(job).unwrap();
        calls.remove(job).unwrap();
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_policy_that_connects_has_no_credentials() {
        let folder = tempfile::tempdir().unwrap();
        let calls = PolicyServerCredentialsStore::folder(&folder.path().join("servers")).unwrap();
        let job: JobId = "01936f3c-8d2e-7c41-9f0a-5b6c7d8e9f01".parse().unwrap();
        calls.put(job, &PolicyServerAccess::Connects).unwrap();
        assert!(matches!(calls.get(job).unwrap(), Some(PolicyServerAccess::Connects)));
    }
}
