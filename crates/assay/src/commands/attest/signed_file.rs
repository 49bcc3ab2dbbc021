//! Reading of statements and key lists.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};

/// Maximum size of a statement or key list, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let about = fs::metadata(path).with_context(|| format!("can't read {}", path.display()))?;
    if !about.is_file() {
        return Err(anyhow!("{} is not a regular file", path.display()));
    }
    if about.len() > MAX_FILE_BYTES {
        return Err(anyhow!("{} is larger than any statement or list of keys", path.display()));
    }
    fs::read(path).with_context(|| format!("can't read {}", path.display()))
}
