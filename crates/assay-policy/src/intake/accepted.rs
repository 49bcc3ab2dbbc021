//! The outcome of an intake.

use assay_model::{DeclaredModel, Sha256Digest};

use crate::PolicyDeclaration;

/// Returns the warning for the author of a policy of which these files and folders were left out.
#[must_use]
pub fn left_out_warning(left_out: &[String]) -> Option<String> {
    (!left_out.is_empty()).then(|| format!("left out of the policy: {}", left_out.join(", ")))
}

/// An accepted policy or scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Intake {
    /// Its identity, in hex: the hash of the archive's bytes; for a folder or a single file the hash of
    /// its listing (for each file in the order of names: length of the name, name, length, content).
    pub sha256: Sha256Digest,
    /// Number of files unpacked.
    pub files: usize,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Declaration of the policy's runtime and models; empty if it is not read.
    pub declaration: PolicyDeclaration,
    /// Declared models that are not among the files. Those that are have the declared digest and size.
    pub models: Vec<DeclaredModel>,
    /// Names of files and folders that were left out, sanitised, in order; at most 20, and then their number.
    pub left_out: Vec<String>,
}
