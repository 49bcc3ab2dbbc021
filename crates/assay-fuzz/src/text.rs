//! Conversion of bytes to text.

/// Runs `target` on the input if it is valid text.
pub fn with_text(data: &[u8], target: impl FnOnce(&str)) {
    if let Ok(text) = std::str::from_utf8(data) {
        target(text);
    }
}
