//! The manifest of a runtime, written by the program that builds it (`python/build_runtime`).

use std::collections::BTreeMap;

use assay_model::{RuntimeCard, RuntimeName, RuntimeVersion, Sha256Digest};
use serde::Deserialize;

/// The environment in every runtime. The threads and kernels of the linear algebra libraries are fixed, so that results
/// are the same on every processor of the last ten years; so are hash seeds.
const ENVIRONMENT: [(&str, &str); 11] = [
    // A tier without namespaces starts the interpreter through the loader, so Python cannot find its home by itself.
    ("PYTHONHOME", "/py"),
    ("PYTHONHASHSEED", "0"),
    ("PYTHONUTF8", "1"),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("NUMEXPR_NUM_THREADS", "1"),
    ("OPENBLAS_CORETYPE", "Haswell"),
    ("NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR"),
];

/// `manifest.json` of a runtime.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RuntimeManifest {
    /// The name by which policies select it.
    pub name: RuntimeName,
    /// Version of the interpreter.
    pub python: String,
    /// Version of every installed distribution, by its normalised name (PEP 503).
    pub packages: BTreeMap<String, String>,
    /// Modules to import before the policy.
    pub imports: Vec<String>,
    /// Environment variables of the interpreter, in addition to those of every runtime.
    pub env: BTreeMap<String, String>,
    /// Address space in bytes that its imports need, in addition to what a scenario allows a policy.
    pub address_space_bytes: u64,
    /// SHA-256 over the names and contents of all files except compiled ones.
    pub sha256: Sha256Digest,
    /// Total size of all files in bytes.
    pub size_bytes: u64,
}

impl RuntimeManifest {
    /// Returns the version that it describes.
    #[must_use]
    pub fn version(&self) -> RuntimeVersion {
        RuntimeVersion { name: self.name.clone(), sha256: self.sha256 }
    }

    /// Returns the version of numpy, empty if it is not installed.
    #[must_use]
    pub fn numpy(&self) -> &str {
        self.packages.get("numpy").map_or("", String::as_str)
    }

    /// Returns the whole environment of its interpreters. A runtime adds settings of its packages, but changes none of
    /// those that every runtime has.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let added = self.env.iter().filter(|(name, _)| ENVIRONMENT.iter().all(|(fixed, _)| fixed != name));
        let fixed = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        fixed.into_iter().chain(added.map(|(name, value)| (name.clone(), value.clone()))).collect()
    }

    /// Returns its description for the authors of policies.
    #[must_use]
    pub fn card(&self, current: bool) -> RuntimeCard {
        RuntimeCard {
            name: self.name.clone(),
            sha256: self.sha256,
            current,
            python: self.python.clone(),
            packages: self.packages.clone(),
            imports: self.imports.clone(),
            size_bytes: self.size_bytes,
        }
    }
}
