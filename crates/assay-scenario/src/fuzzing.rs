//! Entry points for fuzzing: parsers of untrusted text that are otherwise private.

/// Performs the checks that a scene undergoes before MuJoCo reads it.
///
/// # Errors
/// A message for the scene's author.
pub fn mjcf(text: &str) -> Result<(), String> {
    crate::load::mjcf::check_text(text)
}

/// Returns a `README.md` that is safe to display.
#[must_use]
pub fn markdown(text: &str) -> String {
    crate::markdown::harmless(text)
}
