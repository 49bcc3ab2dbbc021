//! Errors of the object store.

use std::fmt;

/// A request to the object store that failed.
///
/// Contains no text of the store's answers but their error code: they repeat key ids and signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStorageError {
    /// The request, such as "upload".
    pub request: &'static str,
    /// The kind of the failure.
    pub problem: ObjectStorageProblem,
    /// Status, error code, or the cause of a failed connection.
    pub detail: String,
}

/// The kind of a failed request to the object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectStorageProblem {
    /// There is no such object.
    Missing,
    /// The store cannot be reached.
    Unreachable,
    /// The store does not answer in time.
    Slow,
    /// The store reports an internal error or asks for fewer requests.
    Failing,
    /// The access key or its secret is wrong, or there is none.
    Credentials,
    /// The clock of this machine differs too much from that of the store.
    Clock,
    /// The bucket does not exist.
    Bucket,
    /// The bucket is in another region.
    Region,
    /// The access key may not do this.
    Permission,
    /// Anything else.
    Other,
}

impl ObjectStorageProblem {
    /// Returns the problem in words, after "the object store".
    fn words(self) -> &'static str {
        match self {
            Self::Missing => "has no such object",
            Self::Unreachable => "can't be reached",
            Self::Slow => "does not answer in time",
            Self::Failing => "reports a failure of its own",
            Self::Credentials => "does not accept the access key",
            Self::Clock => "does not accept the time of this machine",
            Self::Bucket => "has no such bucket",
            Self::Region => "has the bucket in another region",
            Self::Permission => "does not permit the request",
            Self::Other => "refused the request",
        }
    }

    /// Returns the next step for the operator.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Missing => "restore the object from a copy of the bucket",
            Self::Unreachable => "check AWS_ENDPOINT_URL, the network and the store",
            Self::Slow | Self::Failing => "check the store; requests are repeated",
            Self::Credentials => "change AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN",
            Self::Clock => "set the clock of this machine, for example by NTP",
            Self::Bucket => "create the bucket, or change blobs.url",
            Self::Region => "set AWS_REGION to the region of the bucket",
            Self::Permission => {
                "permit the access key s3:ListBucket on the bucket of blobs.url, and s3:GetObject, s3:PutObject, \
                 s3:DeleteObject and s3:AbortMultipartUpload on its objects"
            }
            Self::Other => "check blobs.url, blobs.addressing and AWS_ENDPOINT_URL",
        }
    }
}

impl fmt::Display for ObjectStorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, problem, detail } = self;
        write!(f, "the object store {} ({request}: {detail}); {}", problem.words(), problem.remedy())
    }
}

impl std::error::Error for ObjectStorageError {}
