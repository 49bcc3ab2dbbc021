//! API representation of files of evidence.

use assay_model::{Artifact, Sha256Digest};
use serde::Serialize;

use super::evidence_urls::EvidenceUrls;

/// A file of evidence.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Artifact")]
pub(crate) struct EvidenceFileView {
    /// Path of the file, relative to the report.
    name: String,
    /// SHA-256 of the file's bytes, hexadecimal.
    sha256: Sha256Digest,
    /// Length of the file in bytes.
    size_bytes: u64,
    /// Download URL, valid for a limited time; `null` if the file was removed, and in `report.json`.
    url: Option<String>,
}

impl EvidenceFileView {
    /// Creates the view of a file, with its URL.
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
