//! Runtimes: the interpreters and packages that policies run in.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{RuntimeName, Sha256Digest};

/// A version of a runtime: policies of the same version run with the same files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RuntimeVersion {
    /// Name of the runtime.
    pub name: RuntimeName,
    /// SHA-256 over the names and contents of its files.
    pub sha256: Sha256Digest,
}

impl fmt::Display for RuntimeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (sha256 {:.16})", self.name, self.sha256)
    }
}

/// Description of a runtime for the authors of policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RuntimeCard {
    /// Name by which a policy selects the runtime.
    pub name: RuntimeName,
    /// SHA-256 over the names and contents of its files.
    pub sha256: Sha256Digest,
    /// True if new jobs can select it; an earlier version of a runtime only serves jobs and seasons that began with it.
    pub current: bool,
    /// Version of Python.
    pub python: String,
    /// Version of every installed distribution, by its normalised name (PEP 503).
    pub packages: BTreeMap<String, String>,
    /// Modules that are imported before the policy; their import does not count towards the policy's CPU time.
    pub imports: Vec<String>,
    /// Total size of its files in bytes.
    pub size_bytes: u64,
}
