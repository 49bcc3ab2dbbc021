//! Uploads: at once, or in parts if they are large. Either way the object is complete or does not exist.

use std::io;
use std::path::Path;

use bytes::{Bytes, BytesMut};
use object_store::path::Path as Key;
use object_store::{ObjectStore, PutOptions, PutPayload};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::failure::classify;
use super::{ObjectStorage, ObjectStorageError, ObjectStorageProblem};

/// Size of a part of a large upload in bytes. S3 takes parts of 5 MiB or more, and 10,000 of them.
pub(super) const PART_BYTES: usize = 8 << 20;

/// A file could not be uploaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileUploadError {
    /// The file could not be read.
    #[error("could not read a file to be uploaded")]
    File(#[from] io::Error),
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] ObjectStorageError),
}

/// A source of parts.
enum PartSource {
    Content(Bytes),
    File(File),
}

impl PartSource {
    /// Returns the next part, which is shorter than [`PART_BYTES`] only at the end.
    async fn next(&mut self) -> io::Result<Bytes> {
        match self {
            Self::Content(content) => Ok(content.split_to(content.len().min(PART_BYTES))),
            Self::File(file) => {
                let mut part = BytesMut::with_capacity(PART_BYTES);
                while part.len() < PART_BYTES {
                    let missing = PART_BYTES - part.len();
                    if (&mut *file).take(missing as u64).read_buf(&mut part).await? == 0 {
                        break;
                    }
                }
                Ok(part.freeze())
            }
        }
    }
}

impl ObjectStorage {
    /// Stores `content`, replacing an object with this key.
    pub(crate) async fn put(&self, key: &str, content: Bytes) -> Result<(), ObjectStorageError> {
        match self.put_parts(key, PartSource::Content(content)).await {
            Ok(()) => Ok(()),
            Err(FileUploadError::Store(error)) => Err(error),
            Err(FileUploadError::File(error)) => Err(failed(error.to_string())),
        }
    }

    /// Stores the content of a file, replacing an object with this key.
    pub(crate) async fn put_file(&self, key: &str, path: &Path) -> Result<(), FileUploadError> {
        self.put_parts(key, PartSource::File(File::open(path).await?)).await
    }

    /// Stores the content of a file, unless there is an object of its size with this key, which names the content.
    pub(crate) async fn put_missing_file(&self, key: &str, path: &Path) -> Result<(), FileUploadError> {
        let size = tokio::fs::metadata(path).await?.len();
        match self.facts(key).await {
            Ok(facts) if facts.size == size => Ok(()),
            Err(error) if error.problem != ObjectStorageProblem::Missing => Err(error.into()),
            _ => self.put_file(key, path).await,
        }
    }

    async fn put_parts(&self, key: &str, mut source: PartSource) -> Result<(), FileUploadError> {
        let _permit = self.uploads.acquire().await.map_err(|closed| failed(closed.to_string()))?;
        let (key, first) = (self.key(key), source.next().await?);
        if first.len() < PART_BYTES {
            let stored = self.client.put_opts(&key, PutPayload::from(first), PutOptions::default()).await;
            return Ok(stored.map(drop).map_err(|error| classify("upload", &error))?);
        }
        self.put_large(&key, first, source).await
    }

    async fn put_large(&self, key: &Key, first: Bytes, mut source: PartSource) -> Result<(), FileUploadError> {
        let begun = self.client.put_multipart_opts(key, Default::default()).await;
        let mut upload = begun.map_err(|error| classify("upload", &error))?;
        let mut part = first;
        let uploaded = loop {
            if part.is_empty() {
                break upload.complete().await.map(drop).map_err(|error| classify("upload", &error).into());
            }
            if let Err(error) = upload.put_part(PutPayload::from(part)).await {
                break Err(classify("upload", &error).into());
            }
            part = match source.next().await {
                Ok(part) => part,
                Err(error) => break Err(error.into()),
            };
        };
        if uploaded.is_err() {
            // Its result is ignored: the first error is the one to report. Parts that stay are invisible, and a rule of
            // the bucket deletes them.
            drop(upload.abort().await);
        }
        uploaded
    }
}

fn failed(detail: String) -> ObjectStorageError {
    ObjectStorageError { request: "upload", problem: ObjectStorageProblem::Other, detail }
}
