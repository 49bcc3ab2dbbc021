//! Secrets given on the command line or in the settings, directly or as the name of a file.

use std::path::Path;

use anyhow::{Context, anyhow};
use assay_model::Secret;

/// Maximum size of a key file, in bytes.
const MAX_KEY_BYTES: u64 = 4096;

/// Returns the secret given as `text`, or read from `file`, the value of `option`.
pub(crate) fn secret(option: &str, text: Option<&str>, file: Option<&Path>) -> anyhow::Result<Option<Secret>> {
    let Some(file) = file else { return Ok(text.map(Secret::new)) };
    let what = || format!("{option} {}", file.display());
    let size = std::fs::metadata(file).with_context(what)?.len();
    if size > MAX_KEY_BYTES {
        return Err(anyhow!("has {size} bytes; a key has at most {MAX_KEY_BYTES}").context(what()));
    }
    let text = std::fs::read_to_string(file).with_context(what)?;
    // Editors of Windows write a byte order mark.
    Ok(Some(Secret::new(text.trim_start_matches('\u{feff}').trim())))
}
