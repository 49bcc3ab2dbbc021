//! The archives of accepted policies, by the digest of their content: in the folder `policies/` of the data folder, or
//! in an object store below the same name. Jobs with the same archive share it.
//!
//! Records name an archive by its path, `policies/SHA256.zip`, which is also its key in an object store.

mod archive_bucket;
mod archive_folder;
mod error;
mod fetched;
mod files;
mod names;
mod removal;

pub use error::ArchiveFileError;
pub use files::{ArchiveFile, ArchiveFiles};
pub use removal::{ARCHIVE_SETTLE_TIME, ArchiveRemovalOutcome};
