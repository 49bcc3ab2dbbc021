//! `[blobs]`: the place of evidence and policy archives.

use assay_api::InvalidSetting;
use assay_store::{BucketAddress, ObjectStorage, ObjectStorageError, ObjectStorageOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Beginning of the names of variables that the tools of AWS read.
const VARIABLES: &str = "AWS_";

/// The section `[blobs]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BlobSettings {
    /// Bucket for evidence and policy archives; without it they are in the data folder. Address, region and keys are
    /// variables as the tools of AWS name them: AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.
    #[schemars(example = "s3://evidence/assay")]
    pub(crate) url: Option<String>,
    /// Place of the bucket's name in requests: in the path or in the host name; auto is path if AWS_ENDPOINT_URL is
    /// set, otherwise host.
    pub(crate) addressing: BucketAddressing,
    /// Downloads of evidence from a bucket: through this server (stream), or from the bucket at an address that is
    /// valid for ten minutes (redirect).
    pub(crate) downloads: DownloadRoute,
}

/// The place of the bucket's name in requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum BucketAddressing {
    #[default]
    Auto,
    Path,
    Host,
}

/// The way of evidence from a bucket to clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum DownloadRoute {
    #[default]
    Stream,
    Redirect,
}

impl BlobSettings {
    pub(crate) fn validate(&self) -> Result<(), InvalidSetting> {
        let Some(url) = &self.url else { return Ok(()) };
        match url.parse::<BucketAddress>() {
            Ok(_) => Ok(()),
            Err(_) => Err(InvalidSetting::new("url", url, "s3://BUCKET or s3://BUCKET/PREFIX")),
        }
    }

    /// Prepares the connection to the bucket, with the variables of this process. Returns `None` if evidence is in the
    /// data folder.
    pub(crate) fn bucket(&self) -> Result<Option<ObjectStorage>, ObjectStorageError> {
        let Some(address) = self.url.as_ref().and_then(|url| url.parse::<BucketAddress>().ok()) else {
            return Ok(None);
        };
        let path_style = match self.addressing {
            BucketAddressing::Auto => None,
            BucketAddressing::Path => Some(true),
            BucketAddressing::Host => Some(false),
        };
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with(VARIABLES))
            .collect();
        ObjectStorage::connect(&ObjectStorageOptions { address, path_style, variables }).map(Some)
    }
}
