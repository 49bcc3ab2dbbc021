//! Text from bytes.

/// Runs `target` on the input if it is text.
pub(crate) fn with_text(data: &[u8], target: impl FnOnce(&str)) {
    if let Ok(text) = std::str::from_utf8(data) {
        target(text);
    }
}
