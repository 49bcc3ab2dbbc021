//! The entry of a file in a backup's manifest.

use assay_model::{Sha256Digest, digest_or_none};
use serde::{Deserialize, Serialize};

/// The entry of a file in a backup's manifest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BackupFile {
    /// Path in the data folder.
    pub(crate) path: String,
    /// Size in bytes.
    pub(crate) size_bytes: u64,
    /// Digest of the content. `None` if an untrusted manifest has a text that is not a digest; no file matches it.
    #[serde(deserialize_with = "digest_or_none")]
    pub(crate) sha256: Option<Sha256Digest>,
    /// Permissions, in octal.
    pub(crate) mode: String,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use assay_model::Sha256Digest;
    use serde_json::json;

    use super::BackupFile;

    #[test]
    fn an_invalid_digest_matches_no_file() {
        let entry = |sha256: &str| json!({ "path": "assay.db", "size_bytes": 1, "sha256": sha256, "mode": "600" });
        let read = |sha256: &str| serde_json::from_value::<BackupFile>(entry(sha256)).unwrap();
        let good = "ab".repeat(32);
        assert_eq!(read(&good).sha256, Some(Sha256Digest::new([0xab; 32])));
        assert_eq!(serde_json::to_value(read(&good)).unwrap(), entry(&good));
        for text in ["", "ab", &"AB".repeat(32)] {
            assert_eq!(read(text).sha256, None, "{text:?}");
        }
    }
}
