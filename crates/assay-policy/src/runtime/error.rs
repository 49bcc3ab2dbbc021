//! Errors of declaring, finding and choosing runtimes.

use std::path::PathBuf;

use assay_jail::StageError;
use assay_model::{RuntimeName, RuntimeVersion};

use crate::adapter::AdapterError;

/// Maximum size of `policy.toml`, and of the beginning of `policy.py` that is searched for metadata, in bytes.
pub(crate) const MAX_DECLARATION_BYTES: usize = 256 * 1024;
/// Maximum number of dependencies of a policy.
pub(super) const MAX_DEPENDENCIES: usize = 64;
/// Maximum number of models of a policy.
pub(super) const MAX_MODELS: usize = 16;

/// The reason why a declaration is refused; a message for the policy's author that follows the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeclarationError {
    /// The table `[adapter]` is invalid.
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    /// There is an adapter, and code.
    #[error("it has a table [adapter], which stands for a policy.py, but there is one; remove one of them")]
    AdapterAndScript,
    /// A block of metadata has no end.
    #[error("the block \"# /// script\" is not closed by a line \"# ///\" (PEP 723)")]
    Unclosed,
    /// There are two blocks of metadata.
    #[error("there are two blocks \"# /// script\"; keep one of them (PEP 723)")]
    Twice,
    /// Both files declare a runtime.
    #[error("the block \"# /// script\" in policy.py says the same as policy.toml; keep one of them")]
    Both,
    /// The file is too large.
    #[error("it is larger than {MAX_DECLARATION_BYTES} bytes")]
    TooLarge,
    /// It is not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// It is not TOML, or a value is of another type.
    #[error("{0}")]
    Toml(String),
    /// A key's value is invalid.
    #[error("{key}: {value:?} {why}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The problem: the end of a sentence.
        why: String,
    },
    /// Too many dependencies.
    #[error("dependencies: {0} are too many; at most {MAX_DEPENDENCIES} are allowed")]
    TooMany(usize),
    /// Too many models.
    #[error("models: {0} are too many; at most {MAX_MODELS} are allowed")]
    TooManyModels(usize),
}

/// The reason why a runtime cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// There is no runtime of this name.
    #[error("no runtime {name} in {}; run `make setup`, or see `assay runtime list`", list(.folders))]
    Missing {
        /// The name.
        name: RuntimeName,
        /// The folders searched.
        folders: Vec<PathBuf>,
    },
    /// This version of a runtime is not installed.
    #[error("the runtime {version} is not installed here; {}", instead(.installed))]
    OtherVersion {
        /// The version.
        version: RuntimeVersion,
        /// The installed versions of the same name.
        installed: Vec<RuntimeVersion>,
    },
    /// A part of it cannot be read.
    #[error("the runtime in {folder} is incomplete: {why}; build it again")]
    Incomplete {
        /// Its folder.
        folder: PathBuf,
        /// The missing part.
        why: String,
    },
    /// The copy for the jail's user failed.
    #[error("could not make the runtime readable for jails")]
    Stage(#[from] StageError),
}

/// The reason why no installed runtime fits a policy's declaration; a message for its author.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRuntime {
    /// The policy names a runtime that is not offered.
    #[error(
        "the policy asks for the runtime {name}, which is not offered here; {}. Choose one of them, or {}",
        .offered, alternatives("this runtime")
    )]
    Unknown {
        /// The name.
        name: RuntimeName,
        /// The offered ones.
        offered: Offered,
    },
    /// No runtime has the required packages.
    #[error(
        "no runtime here has {}; {}. Nothing is installed for a policy: {}",
        .missing.join(" and "), .offered, alternatives("a runtime with these packages")
    )]
    Unsatisfied {
        /// The requirements that the runtime closest to them does not meet.
        missing: Vec<String>,
        /// The offered runtimes.
        offered: Offered,
    },
}

/// The offered runtimes, each with its packages, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered(pub(super) Vec<String>);

impl std::fmt::Display for Offered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no runtimes are offered");
        }
        write!(f, "offered are {}", self.0.join("; "))
    }
}

/// Returns what an author can do without the runtime `wanted`, as the end of a sentence.
fn alternatives(wanted: &str) -> String {
    format!(
        "ask the operator for {wanted} (assay runtime add), export the network to ONNX and run it in the runtime onnx, or \
         start a policy server and submit its address"
    )
}

fn list(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn instead(installed: &[RuntimeVersion]) -> String {
    match installed {
        [] => "no version of it is".to_owned(),
        some => format!("installed is {}", some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}
