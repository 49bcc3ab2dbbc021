//! The fingerprint of a machine: the conditions besides archive, scenario and seed that a result depends on.

use std::fs;
use std::path::Path;

use assay_model::{Fingerprint, Isolation, Scorer};
use assay_policy::RuntimeManifest;

use crate::EngineError;
use crate::signing::statement::sha256_of;

/// CPU features by which numeric libraries select their code, as spelled in `/proc/cpuinfo`: the C library's
/// mathematics (avx2, fma; disabled in lanes) and numpy's loops (the others too).
const FEATURES: [&str; 12] = [
    "sse4_2",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "avx512f",
    "avx512cd",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512ifma",
    "avx512_fp16",
];
/// Kernel that OpenBLAS is pinned to in the jail.
const BLAS_CORE: &str = "Haswell";

/// Reads the machine's fingerprint for policies in this runtime.
pub(crate) fn collect(
    libmujoco: &Path,
    runtime: &RuntimeManifest,
    isolation: Isolation,
) -> Result<Fingerprint, EngineError> {
    let fail = |path: &Path, source| EngineError::Fingerprint(path.display().to_string(), source);
    let version = libmujoco.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once(".so."));
    Ok(Fingerprint {
        mujoco: version.map_or_else(String::new, |(_, version)| version.to_owned()),
        libmujoco_sha256: sha256_of(libmujoco).map_err(|e| fail(libmujoco, e))?,
        cpu_features: cpu_features(),
        glibc: glibc_version(),
        numpy: runtime.numpy().to_owned(),
        blas_core: BLAS_CORE.to_owned(),
        scorer_version: Scorer::default().version().to_owned(),
        isolation,
        runtime: Some(runtime.version()),
    })
}

fn cpu_features() -> Vec<String> {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    let has = |feature: &&str| flags.split_whitespace().any(|flag| flag == *feature);
    FEATURES.iter().filter(|feature| has(feature)).map(|feature| (*feature).to_owned()).collect()
}

/// Returns the version of the C library, from the first line of the loader's `--version`.
fn glibc_version() -> String {
    let output = std::process::Command::new("/lib64/ld-linux-x86-64.so.2").arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    first.rsplit(' ').next().unwrap_or_default().trim_end_matches('.').to_owned()
}
