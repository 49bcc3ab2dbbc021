//! Packing of a file, and checking a packed one.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use assay_model::Sha256Digest;

use super::error::{BlobError, PackedFormError};
use crate::pack;

/// Bytes of a file that identify its format.
const MAGIC_BYTES: u64 = 16;

/// Returns the packed content of the file, if packing makes it smaller.
pub(super) fn packed(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(MAGIC_BYTES).read_to_end(&mut head)?;
    if !pack::is_packable(&head) || file.metadata()?.len() > pack::MAX_BYTES {
        return Ok(None);
    }
    file.take(pack::MAX_BYTES).read_to_end(&mut head)?;
    Ok(pack::pack(&head))
}

/// Returns the content whose packed form the file is, checking that it has at most `limit` bytes and this SHA-256.
pub(super) fn checked(path: &Path, sha256: Sha256Digest, limit: u64) -> Result<Vec<u8>, PackedFormError> {
    let mut packed = Vec::new();
    let file = File::open(path).map_err(BlobError::from)?;
    file.take(pack::MAX_BYTES + 1).read_to_end(&mut packed).map_err(BlobError::from)?;
    let length = pack::length(packed.get(..pack::HEAD_BYTES).unwrap_or_default())?;
    if length > limit {
        return Err(PackedFormError::TooLong { length, limit });
    }
    let content = pack::unpack(&packed)?;
    let found = Sha256Digest::of(&content);
    if found == sha256 { Ok(content) } else { Err(PackedFormError::OtherContent { found, expected: sha256 }) }
}
