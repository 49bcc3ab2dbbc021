//! An object store that speaks the protocol of S3: a bucket, and a prefix in it, for evidence and policy archives.
//!
//! Nothing here depends on conditional writes or on listing many objects: keys are named after the content, an upload
//! is complete or does not exist, and only the objects of one job are ever listed.
//!
//! Every failure is an [`ObjectStorageError`] with its kind and the setting to change. Except for an object that does
//! not exist, a failure is an outage: it is tried again, and never counts against a job.
//!
//! Where to begin: [`ObjectStorage`].

mod address;
mod connection;
mod error;
mod failure;
mod probe;
mod upload;

pub use address::{BucketAddress, InvalidBucketAddress};
pub use connection::{ObjectStorage, ObjectStorageOptions};
pub use error::{ObjectStorageError, ObjectStorageProblem};
pub(crate) use upload::FileUploadError;
