//! The outcome of removing an archive.

use jiff::SignedDuration;

/// Time since its last upload for which an archive in an object store is not removed: another server may be accepting
/// a job with it.
pub const ARCHIVE_SETTLE_TIME: SignedDuration = SignedDuration::from_secs(60);

/// Result of removing an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveRemovalOutcome {
    /// It does not exist any more.
    Removed,
    /// It was uploaded a moment ago, and must be removed later, after [`ARCHIVE_SETTLE_TIME`].
    Unsettled,
}
