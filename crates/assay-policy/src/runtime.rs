//! The hermetic Python runtime of policies: a folder that becomes the jail's root.

use std::path::{Path, PathBuf};

use assay_jail::{StageError, stage_readable};
use assay_model::Sha256Digest;
use serde::Deserialize;

/// Environment variable that names the folder; it takes precedence over all other places.
pub const RUNTIME_VARIABLE: &str = "ASSAY_PYTHON_RUNTIME";
const INTERPRETER: &str = "py/bin/python3";
const INSTALLED: &str = "/usr/lib/assay/python";
const MANIFEST: &str = "manifest.json";

/// A Python runtime that jails can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// The folder to mount as the jail's root.
    pub root: PathBuf,
    /// Its manifest.
    pub manifest: RuntimeManifest,
}

/// `manifest.json` of a runtime.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RuntimeManifest {
    /// Version of the interpreter.
    pub python: String,
    /// Version of numpy.
    pub numpy: String,
    /// Hash over all names and contents.
    pub sha256: Sha256Digest,
}

/// The reason why no usable runtime was found.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// There is no runtime.
    #[error("no Python runtime for policies found in {}; run `make setup`, or set {RUNTIME_VARIABLE}", list(.0))]
    Missing(Vec<PathBuf>),
    /// Its manifest cannot be read.
    #[error("the Python runtime at {root} is incomplete: {why}; run `make setup` again")]
    Incomplete {
        /// Its folder.
        root: PathBuf,
        /// The missing part.
        why: String,
    },
    /// The copy for the jail's user failed.
    #[error("could not make the Python runtime readable for jails")]
    Stage(#[from] StageError),
}

impl Runtime {
    /// Finds the runtime: `$ASSAY_PYTHON_RUNTIME`, beside the binary (`../../vendor/python`), `./vendor/python`,
    /// `/usr/lib/assay/python`. If the jail's user cannot read it, it is copied below `cache_root` once.
    ///
    /// # Errors
    /// [`RuntimeError`], which says how to install one.
    pub fn find(cache_root: &Path) -> Result<Self, RuntimeError> {
        if let Some(named) = std::env::var_os(RUNTIME_VARIABLE) {
            return Self::at(Path::new(&named), cache_root);
        }
        let places = places();
        match places.iter().find(|place| place.join(INTERPRETER).is_file()) {
            Some(place) => Self::at(place, cache_root),
            None => Err(RuntimeError::Missing(places)),
        }
    }

    /// Opens the runtime at `root`.
    ///
    /// # Errors
    /// [`RuntimeError`] if there is none, or it cannot be copied.
    pub fn at(root: &Path, cache_root: &Path) -> Result<Self, RuntimeError> {
        if !root.join(INTERPRETER).is_file() {
            return Err(RuntimeError::Missing(vec![root.to_owned()]));
        }
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let incomplete = |why: String| RuntimeError::Incomplete { root: root.clone(), why };
        let text = std::fs::read_to_string(root.join(MANIFEST)).map_err(|e| incomplete(format!("{MANIFEST}: {e}")))?;
        let manifest = serde_json::from_str(&text).map_err(|e| incomplete(format!("{MANIFEST}: {e}")))?;
        Ok(Self { root: stage_readable(&root, cache_root)?, manifest })
    }
}

fn places() -> Vec<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join("../../vendor/python")));
    beside.into_iter().chain([PathBuf::from("vendor/python"), INSTALLED.into()]).collect()
}

fn list(places: &[PathBuf]) -> String {
    places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ")
}
