//! Models that a policy declares: large files that are uploaded once, apart from the archives that use them.

use serde::{Deserialize, Serialize};

use crate::Sha256Digest;

/// A file that a policy needs besides those in its archive, identified by its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeclaredModel {
    /// Path of the file in the policy's folder, with `/` between its parts.
    pub path: String,
    /// SHA-256 of the file.
    pub sha256: Sha256Digest,
    /// Size of the file in bytes; `null` if the policy does not declare it.
    #[serde(default)]
    pub size_bytes: Option<u64>,
}
