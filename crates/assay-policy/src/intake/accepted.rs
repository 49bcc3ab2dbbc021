//! The outcome of an intake.

use assay_model::{DeclaredModel, Sha256Digest};

use crate::PolicyDeclaration;

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
}
