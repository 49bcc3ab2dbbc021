//! Packing of a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

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
