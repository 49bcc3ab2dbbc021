//! A file of evidence, as clients see it.

use assay_model::{Artifact, Sha256Digest};
use serde::Serialize;

use super::evidence_urls::EvidenceUrls;

/// A file of evidence.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Artifact")]
pub(crate) struct EvidenceFileView {
    /// Its path, relative to the report.
    name: String,
    /// SHA-256 of its bytes, hexadecimal.
    sha256: Sha256Digest,
    /// Its length in bytes.
    size_bytes: u64,
    /// Where to download it, for a while; `null` if it was removed, and in `report.json`.
    url: Option<String>,
}

impl EvidenceFileView {
    /// Returns a file with its address.
    pub(super) fn new(file: Artifact, urls: &EvidenceUrls<'_>) -> Self {
        let url = urls.url(&file);
        let Artifact { name, sha256, size_bytes } = file;
        Self { name, sha256, size_bytes, url }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }
}
