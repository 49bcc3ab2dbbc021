//! The names of artifacts, in a folder and in a bucket.

use assay_model::{JobId, Sha256Digest};

/// Folder of all jobs.
pub(super) const JOBS: &str = "jobs";
/// Suffix of the name of a packed artifact.
pub(super) const PACKED: &str = ".pack";

/// Returns the folder of a job's artifacts.
pub(super) fn job_folder(job: JobId) -> String {
    format!("{JOBS}/{job}")
}

/// Returns the two possible names of an artifact: plain and packed.
pub(super) fn both(job: JobId, sha256: Sha256Digest) -> [String; 2] {
    let plain = format!("{JOBS}/{job}/{sha256}");
    [plain.clone(), plain + PACKED]
}

/// Returns the hash of the artifact with this file name, plain or packed.
pub(super) fn sha256_of(name: &str) -> Option<Sha256Digest> {
    name.strip_suffix(PACKED).unwrap_or(name).parse().ok()
}
