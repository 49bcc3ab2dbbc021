//! Requests to the bucket.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::path::Path as Key;
use object_store::signer::{SignedUrlOptions, Signer};
use object_store::{BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore, RetryConfig};
use reqwest::Method;
use tokio::sync::Semaphore;
use url::Url;

use super::failure::classify;
use super::{BucketAddress, ObjectStorageError, ObjectStorageProblem};

/// Time limit for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit for the next bytes of an answer, and for sending a request with at most a part of an upload.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
/// Number of times that a request is repeated at once. What then still fails is tried again later, by the caller.
const MAX_REPEATS: usize = 3;
/// Time after which a request is not repeated any more.
const REPEAT_TIME: Duration = Duration::from_secs(30);
/// Pause before the first repetition; about doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Maximum pause before a repetition.
const MAX_PAUSE: Duration = Duration::from_secs(3);
/// Maximum number of concurrent uploads: each holds up to a part in memory.
const MAX_UPLOADS: usize = 8;
/// Variables with the address of the store, the most specific first.
const ENDPOINTS: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];

/// The address of an object store, and the variables of its clients.
#[derive(Clone)]
pub struct ObjectStorageOptions {
    /// The bucket and the prefix of all keys.
    pub address: BucketAddress,
    /// True if the bucket is part of the path of requests, false if it is part of the host name; `None` for what
    /// suits: the path if an endpoint is given, otherwise the host name.
    pub path_style: Option<bool>,
    /// Variables as the tools of AWS name them: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
    /// `AWS_REGION`, `AWS_ENDPOINT_URL`, and those of other sources of credentials. Others are ignored.
    pub variables: Vec<(String, String)>,
}

/// Written by hand because the variables contain secrets.
impl fmt::Debug for ObjectStorageOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStorageOptions").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A bucket, and a prefix in it. Keys are relative to the prefix.
#[derive(Clone)]
pub struct ObjectStorage {
    pub(super) client: Arc<AmazonS3>,
    pub(super) uploads: Arc<Semaphore>,
    address: BucketAddress,
}

/// Written by hand because the client contains secrets.
impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStorage").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Facts about an object, from the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectFacts {
    /// Length in bytes.
    pub(crate) size: u64,
    /// A text that differs between versions of the object.
    pub(crate) version: String,
    /// The time of its upload, by the clock of the store.
    pub(crate) uploaded_at: Timestamp,
}

impl From<ObjectMeta> for ObjectFacts {
    fn from(meta: ObjectMeta) -> Self {
        let uploaded_at = Timestamp::from_second(meta.last_modified.timestamp()).unwrap_or(Timestamp::MAX);
        let version = meta.e_tag.unwrap_or_else(|| uploaded_at.to_string());
        Self { size: meta.size, version, uploaded_at }
    }
}

impl ObjectStorage {
    /// Prepares requests to a bucket, without sending one.
    ///
    /// # Errors
    /// The variables contradict each other, or are not addresses.
    pub fn connect(options: &ObjectStorageOptions) -> Result<Self, ObjectStorageError> {
        // Refused only if another part of the process has chosen before, which is the same choice.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = builder(options)?.build().map_err(|error| classify("prepare", &error))?;
        let (client, uploads) = (Arc::new(client), Arc::new(Semaphore::new(MAX_UPLOADS)));
        Ok(Self { client, uploads, address: options.address.clone() })
    }

    /// Returns the bucket and prefix.
    #[must_use]
    pub fn address(&self) -> &BucketAddress {
        &self.address
    }

    /// Returns the facts about an object. If the bucket does not exist, the object is missing: use [`Self::read`] to
    /// distinguish the two.
    pub(crate) async fn facts(&self, key: &str) -> Result<ObjectFacts, ObjectStorageError> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        let found = self.client.get_opts(&self.key(key), options).await.map_err(|error| classify("look up", &error))?;
        Ok(found.meta.into())
    }

    /// Streams an object, or a range of it, which must not be empty.
    pub(crate) async fn read(
        &self,
        key: &str,
        range: Option<Range<u64>>,
    ) -> Result<BoxStream<'static, Result<Bytes, ObjectStorageError>>, ObjectStorageError> {
        let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
        let found =
            self.client.get_opts(&self.key(key), options).await.map_err(|error| classify("download", &error))?;
        Ok(found.into_stream().map_err(|error| classify("download", &error)).boxed())
    }

    /// Returns at most the first `limit` bytes of an object.
    pub(crate) async fn head(&self, key: &str, limit: u64) -> Result<Vec<u8>, ObjectStorageError> {
        self.whole(self.read(key, Some(0..limit)).await?).await
    }

    /// Returns the content of an object. The caller knows that it is small.
    pub(crate) async fn content(&self, key: &str) -> Result<Vec<u8>, ObjectStorageError> {
        self.whole(self.read(key, None).await?).await
    }

    pub(super) async fn whole(
        &self,
        mut pieces: BoxStream<'static, Result<Bytes, ObjectStorageError>>,
    ) -> Result<Vec<u8>, ObjectStorageError> {
        let mut content = Vec::new();
        while let Some(piece) = pieces.try_next().await? {
            content.extend_from_slice(&piece);
        }
        Ok(content)
    }

    /// Deletes an object, if there is one.
    pub(crate) async fn delete(&self, key: &str) -> Result<(), ObjectStorageError> {
        let key = self.key(key);
        let keys = futures_util::stream::once(async move { Ok(key) }).boxed();
        self.delete_all(keys).await
    }

    /// Deletes the objects below `folder` whose names do not satisfy `is_kept`.
    pub(crate) async fn delete_below(
        &self,
        folder: &str,
        is_kept: impl Fn(&str) -> bool + Send + 'static,
    ) -> Result<(), ObjectStorageError> {
        let found = self.client.list(Some(&self.key(folder)));
        let keys = found.try_filter_map(move |meta| {
            let is_kept = meta.location.filename().is_some_and(&is_kept);
            async move { Ok((!is_kept).then_some(meta.location)) }
        });
        self.delete_all(keys.boxed()).await
    }

    async fn delete_all(&self, keys: BoxStream<'static, object_store::Result<Key>>) -> Result<(), ObjectStorageError> {
        let mut deleted = self.client.delete_stream(keys);
        while let Some(outcome) = deleted.next().await {
            match outcome.map_err(|error| classify("delete", &error)) {
                Err(error) if error.problem != ObjectStorageProblem::Missing => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the names of the objects below `folder`, and the facts about them.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<(String, ObjectFacts)>, ObjectStorageError> {
        let found = self.client.list(Some(&self.key(folder))).map_err(|error| classify("list", &error));
        let named = |meta: ObjectMeta| (meta.location.filename().unwrap_or_default().to_owned(), meta.into());
        found.map_ok(named).try_collect().await
    }

    /// Returns an address at which anyone can download the object for `lifetime`. `query` asks the store for headers
    /// of its answer.
    pub(crate) async fn download_address(
        &self,
        key: &str,
        lifetime: Duration,
        query: Vec<(&str, String)>,
    ) -> Result<Url, ObjectStorageError> {
        let options = SignedUrlOptions::default().with_query(query);
        let signed = self.client.signed_url_opts(Method::GET, &self.key(key), lifetime, &options).await;
        signed.map_err(|error| classify("sign", &error))
    }

    pub(super) fn key(&self, key: &str) -> Key {
        // An empty prefix leaves no empty part.
        Key::from(format!("{}/{key}", self.address.prefix))
    }
}

fn builder(options: &ObjectStorageOptions) -> Result<AmazonS3Builder, ObjectStorageError> {
    let mut builder = AmazonS3Builder::new();
    for (name, value) in &options.variables {
        let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() else { continue };
        if !matches!(key, AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::S3Endpoint) {
            builder = builder.with_config(key, value);
        }
    }
    let variable = |name: &str| options.variables.iter().find(|(found, value)| found == name && !value.is_empty());
    let endpoint = ENDPOINTS.iter().find_map(|name| variable(name)).map(|(_, address)| address.as_str());
    let path_style = options.path_style.unwrap_or(endpoint.is_some());
    let bucket = &options.address.bucket;
    if let Some(text) = endpoint {
        let wrong = || ObjectStorageError {
            request: "prepare",
            problem: ObjectStorageProblem::Other,
            detail: "AWS_ENDPOINT_URL is not an address that begins with http:// or https://".to_owned(),
        };
        let mut address = Url::parse(text).map_err(|_| wrong())?;
        let host = address.host_str().filter(|_| matches!(address.scheme(), "http" | "https")).ok_or_else(wrong)?;
        if !path_style {
            let host = format!("{bucket}.{host}");
            address.set_host(Some(&host)).map_err(|_| wrong())?;
        }
        builder = builder.with_endpoint(address.as_str().trim_end_matches('/'));
    }
    let is_plain = endpoint.is_some_and(|address| address.starts_with("http://"));
    let client = ClientOptions::new()
        .with_allow_http(is_plain)
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_read_timeout(READ_TIMEOUT)
        .with_timeout_disabled();
    let backoff = BackoffConfig { init_backoff: FIRST_PAUSE, max_backoff: MAX_PAUSE, base: 2. };
    Ok(builder
        .with_bucket_name(bucket)
        .with_virtual_hosted_style_request(!path_style)
        .with_checksum_algorithm(Checksum::SHA256)
        .with_client_options(client)
        .with_retry(RetryConfig { backoff, max_retries: MAX_REPEATS, retry_timeout: REPEAT_TIME }))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const SECRET: &str = "s3cr3t-27182818";

    fn options(endpoint: Option<&str>, path_style: Option<bool>) -> ObjectStorageOptions {
        let keys = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_REGION", "eu-west-1")];
        let endpoint = endpoint.map(|endpoint| ("AWS_ENDPOINT_URL", endpoint));
        let variables = keys.into_iter().chain(endpoint).map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = variables.chain([("AWS_BUCKET".to_owned(), "other".to_owned())]).collect();
        ObjectStorageOptions { address: "s3://evidence/lab".parse().unwrap(), path_style, variables }
    }

    #[tokio::test]
    async fn the_bucket_is_in_the_host_or_in_the_path() {
        for (endpoint, path_style, expected) in [
            (None, None, "https://evidence.s3.eu-west-1.amazonaws.com/lab/jobs/1?"),
            (None, Some(true), "https://s3.eu-west-1.amazonaws.com/evidence/lab/jobs/1?"),
            (Some("http://127.0.0.1:9/"), None, "http://127.0.0.1:9/evidence/lab/jobs/1?"),
            (Some("https://rgw.example.org"), Some(false), "https://evidence.rgw.example.org/lab/jobs/1?"),
        ] {
            let storage = ObjectStorage::connect(&options(endpoint, path_style)).unwrap();
            let address = storage.download_address("jobs/1", Duration::from_secs(60), Vec::new()).await.unwrap();
            assert!(address.as_str().starts_with(expected), "{address}");
        }
        let mut at_root = options(None, None);
        at_root.address = "s3://evidence".parse().unwrap();
        let storage = ObjectStorage::connect(&at_root).unwrap();
        let address = storage.download_address("jobs/1", Duration::from_secs(60), Vec::new()).await.unwrap();
        assert!(address.as_str().starts_with("https://evidence.s3.eu-west-1.amazonaws.com/jobs/1?"), "{address}");
    }

    #[test]
    fn secrets_are_never_shown() {
        let options = options(None, None);
        let storage = ObjectStorage::connect(&options).unwrap();
        for text in [format!("{options:?}"), format!("{storage:?}")] {
            assert!(!text.contains(SECRET), "{text}");
        }
    }

    #[test]
    fn a_wrong_endpoint_is_named() {
        for endpoint in ["rgw.example.org", "ftp://rgw.example.org", "http://"] {
            let error = ObjectStorage::connect(&options(Some(endpoint), None)).unwrap_err();
            assert!(error.to_string().contains("AWS_ENDPOINT_URL"), "{error}");
        }
    }
}
