//! Tests of the evidence: `conformance` on every backend, `folder` and `outages` on what only one of them has.
#![expect(clippy::unwrap_used, reason = "tests")]

mod archives;
mod conformance;
mod folder;
mod outages;

use std::ops::Range;
use std::path::Path;

use assay_model::{JobId, Sha256Digest};
use assay_testkit::S3Server;
use bytes::Bytes;
use futures_util::TryStreamExt;

use super::{BlobError, Blobs};
use crate::{ObjectStorage, ObjectStorageOptions};

fn job(last: u8) -> JobId {
    format!("01900000-0000-7000-8000-0000000000{last:02x}").parse().unwrap()
}

/// Returns the part `s3://evidence/lab` of the server at `address`: the real one, or a proxy before it.
fn storage(address: &str) -> ObjectStorage {
    storage_at(address, "lab")
}

fn storage_at(address: &str, prefix: &str) -> ObjectStorage {
    let address_of_bucket = format!("s3://{}/{prefix}", S3Server::BUCKET).parse().unwrap();
    let variables = S3Server::variables(address);
    ObjectStorage::connect(&ObjectStorageOptions { address: address_of_bucket, path_style: None, variables }).unwrap()
}

fn bucket(folder: &Path, address: &str) -> Blobs {
    Blobs::bucket(folder, storage(address), true).unwrap()
}

async fn text(blobs: &Blobs, job: JobId, sha256: Sha256Digest, range: Range<u64>) -> Result<String, BlobError> {
    let pieces: Vec<Bytes> = blobs.read(job, sha256, range).await?.try_collect().await?;
    Ok(String::from_utf8(pieces.concat()).unwrap())
}
