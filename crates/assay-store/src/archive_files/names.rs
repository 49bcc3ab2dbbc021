//! The paths of archives.

use assay_model::Sha256Digest;

/// Name of the folder in a data folder, and in a bucket.
pub(super) const FOLDER: &str = "policies";

/// Returns the path of the archive with this digest.
pub(super) fn path_of(sha256: Sha256Digest) -> String {
    format!("{FOLDER}/{sha256}.zip")
}

/// Returns the digest in the path of an archive, or `None` for any other path.
pub(super) fn sha256_of(path: &str) -> Option<Sha256Digest> {
    path.strip_prefix(FOLDER)?.strip_prefix('/')?.strip_suffix(".zip")?.parse().ok()
}
