//! A trial of everything that the service needs from the store.

use bytes::Bytes;

use super::{ObjectStorage, ObjectStorageError, ObjectStorageProblem};

/// Content of the object that is stored and read back.
const CONTENT: &[u8] = b"assay probe";
/// The range that is read.
const RANGE: std::ops::Range<u64> = 6..11;
/// The bytes in that range.
const PART: &[u8] = b"probe";

impl ObjectStorage {
    /// Lists objects, stores one, reads it and a range of it, and deletes it. `name` must be new.
    ///
    /// # Errors
    /// The first request that failed, with the setting to change.
    pub async fn probe(&self, name: &str) -> Result<(), ObjectStorageError> {
        let folder = format!("probes/{name}");
        let key = format!("{folder}/object");
        // A list tells best whether the bucket exists.
        self.list(&folder).await?;
        self.put(&key, Bytes::from_static(CONTENT)).await?;
        let tried = self.try_reading(&folder, &key).await;
        // The object is deleted even if it could not be read.
        let deleted = self.delete(&key).await;
        tried?;
        deleted?;
        self.is_deleted(&key).await
    }

    async fn try_reading(&self, folder: &str, key: &str) -> Result<(), ObjectStorageError> {
        if self.content(key).await? != CONTENT {
            return Err(changed("the object came back changed"));
        }
        if self.whole(self.read(key, Some(RANGE)).await?).await? != PART {
            return Err(changed("a range of the object came back changed"));
        }
        match self.list(folder).await?.as_slice() {
            [(name, facts)] if name == "object" && facts.size == CONTENT.len() as u64 => Ok(()),
            _ => Err(changed("the object is not listed")),
        }
    }

    /// Checks that a missing object is reported as missing. Without the permission to list the bucket, S3 reports
    /// "access denied".
    async fn is_deleted(&self, key: &str) -> Result<(), ObjectStorageError> {
        match self.content(key).await {
            Err(error) if error.problem == ObjectStorageProblem::Missing => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(changed("the object is still there after its deletion")),
        }
    }
}

fn changed(detail: &str) -> ObjectStorageError {
    ObjectStorageError { request: "probe", problem: ObjectStorageProblem::Other, detail: detail.to_owned() }
}
