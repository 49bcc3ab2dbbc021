//! A file of a backup.

use serde::{Deserialize, Serialize};

/// A file of a backup.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BackupFile {
    /// Its place in the data folder.
    pub(crate) path: String,
    /// Its length in bytes.
    pub(crate) size_bytes: u64,
    /// SHA-256 of its bytes, hexadecimal.
    pub(crate) sha256: String,
    /// Its permissions, octal.
    pub(crate) mode: String,
}
