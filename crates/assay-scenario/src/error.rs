//! Errors of unusable scenarios, with file, key and remedy.

use std::path::{Path, PathBuf};

use assay_model::lane::ScenarioFault;

/// A scenario or robot that is not usable as written.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A file can't be read.
    #[error("{}: can't be read", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file that must be there is not.
    #[error("{}: is missing; {purpose}, so add it", path.display())]
    Missing {
        /// Which.
        path: PathBuf,
        /// Its purpose.
        purpose: &'static str,
    },
    /// A link stands where a file should.
    #[error("{}: is a link; put a copy there", path.display())]
    Linked {
        /// Which.
        path: PathBuf,
    },
    /// A file is larger than [`crate::MAX_TEXT_BYTES`].
    #[error("{}: is larger than {} bytes; shorten it", path.display(), crate::MAX_TEXT_BYTES)]
    TooLarge {
        /// Which.
        path: PathBuf,
    },
    /// Not TOML, or not of the schema.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// The parser's words, with line and column.
        message: String,
    },
    /// MJCF that is none, or that asks for what it may not have.
    #[error("{file}: {problem}")]
    Mjcf {
        /// Which file, relative to the scenario's folder.
        file: String,
        /// The problem, and how to correct it.
        problem: String,
    },
    /// A text that is not taken.
    #[error("{file}: {problem}")]
    Text {
        /// Which file.
        file: &'static str,
        /// The problem, and how to correct it.
        problem: String,
    },
    /// A value that makes no sense.
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
    /// A wrong value in `scenario.toml`.
    pub(crate) fn value(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Value { file: "scenario.toml", key: key.into(), problem: problem.into() }
    }

    /// File, key and problem apart.
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
            Self::Missing { purpose, .. } => format!("is missing; {purpose}, so add it"),
            Self::Linked { .. } => "is a link; put a copy there".to_owned(),
            Self::TooLarge { .. } => format!("is larger than {} bytes; shorten it", crate::MAX_TEXT_BYTES),
            Self::Read { source, .. } => format!("can't be read: {source}"),
        };
        ScenarioFault { file, key, problem }
    }
}
