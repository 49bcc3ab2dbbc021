//! Reading of statements and keys.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};

/// Largest statement or list of keys that is read, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let about = fs::metadata(path).with_context(|| format!("can't read {}", path.display()))?;
    if !about.is_file() {
        return Err(anyhow!("{} is no regular file", path.display()));
    }
    if about.len() > MAX_FILE_BYTES {
        return Err(anyhow!("{} is larger than anything that we write", path.display()));
    }
    fs::read(path).with_context(|| format!("can't read {}", path.display()))
}
