//! Errors of unusable scenarios, with file, key and remedy.

use std::path::{Path, PathBuf};

use assay_model::lane::ScenarioFault;

/// An invalid scenario or robot.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A file cannot be read.
    #[error("{}: can't be read", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A required file is missing.
    #[error("{}: is missing; add it: {purpose}", path.display())]
    Missing {
        /// Path of the file.
        path: PathBuf,
        /// Purpose of the file.
        purpose: &'static str,
    },
    /// A link is used in place of a file.
    #[error("{}: is a link; replace it with a copy", path.display())]
    Linked {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file is larger than [`crate::MAX_TEXT_BYTES`].
    #[error("{}: is larger than {} bytes; shorten it", path.display(), crate::MAX_TEXT_BYTES)]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is not valid TOML, or does not match the schema.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// Path of the file.
        path: PathBuf,
        /// The parser's message, with line and column.
        message: String,
    },
    /// Invalid MJCF, or MJCF with a forbidden element or path.
    #[error("{file}: {problem}")]
    Mjcf {
        /// Path of the file, relative to the scenario's folder.
        file: String,
        /// The problem, and how to correct it.
        problem: String,
    },
    /// A text that is not accepted.
    #[error("{file}: {problem}")]
    Text {
        /// Path of the file.
        file: &'static str,
        /// The problem, and how to correct it.
        problem: String,
    },
    /// An invalid value.
    #[error("{file}: {key}: {problem}")]
    Value {
        /// `scenario.toml` or `robot.toml`.
        file: &'static str,
        /// Path of the key, such as `clause[2].formula`.
        key: String,
        /// The problem, and how to correct it.
        problem: String,
    },
}

impl ScenarioError {
    /// Creates the error for an invalid value in `scenario.toml`.
    pub(crate) fn value(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Value { file: "scenario.toml", key: key.into(), problem: problem.into() }
    }

    /// Returns file, key and problem separately.
    #[must_use]
    pub fn fault(&self) -> ScenarioFault {
        let named = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let (file, key) = match self {
            Self::Value { file, key, .. } => ((*file).to_owned(), Some(key.clone())),
            Self::Mjcf { file, .. } => (file.clone(), None),
            Self::Text { file, .. } => ((*file).to_owned(), None),
            Self::Read { path, .. }
            | Self::Missing { path, .. }
            | Self::TooLarge { path }
            | Self::Linked { path }
            | Self::Syntax { path, .. } => (named(path), None),
        };
        let problem = match self {
            Self::Value { problem, .. } | Self::Mjcf { problem, .. } | Self::Text { problem, .. } => problem.clone(),
            Self::Syntax { message, .. } => message.clone(),
            Self::Missing { purpose, .. } => format!("is missing; add it: {purpose}"),
            Self::Linked { .. } => "is a link; replace it with a copy".to_owned(),
            Self::TooLarge { .. } => format!("is larger than {} bytes; shorten it", crate::MAX_TEXT_BYTES),
            Self::Read { source, .. } => format!("can't be read: {source}"),
        };
        ScenarioFault { file, key, problem }
    }
}
