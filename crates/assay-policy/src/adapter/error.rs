//! Errors of an adapter's declaration and files.

use super::limits::MAX_NAME_BYTES;

/// The reason why an adapter is refused; a message for the policy's author: what is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// A key of the table `[adapter]` is missing or invalid.
    #[error("adapter.{key} {why}")]
    Key {
        /// Path of the key below `adapter`.
        key: String,
        /// The problem and the remedy: the end of a sentence.
        why: String,
    },
    /// A file of the policy is missing or invalid.
    #[error("{file}: {why}")]
    File {
        /// Its path in the policy's folder, sanitised.
        file: String,
        /// The problem and the remedy.
        why: String,
    },
    /// A feature of a checkpoint and its declaration do not fit.
    #[error("the feature {feature:?}: {why}")]
    Feature {
        /// Its name, sanitised.
        feature: String,
        /// The problem and the remedy.
        why: String,
    },
}

impl AdapterError {
    pub(super) fn key(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Key { key: key.into(), why: why.into() }
    }

    pub(super) fn file(file: &str, why: impl Into<String>) -> Self {
        Self::File { file: shown(file), why: why.into() }
    }

    pub(super) fn feature(feature: &str, why: impl Into<String>) -> Self {
        Self::Feature { feature: shown(feature), why: why.into() }
    }
}

/// Returns an untrusted name, sanitised for display.
pub(super) fn shown(name: &str) -> String {
    assay_model::sanitise(name, MAX_NAME_BYTES)
}
