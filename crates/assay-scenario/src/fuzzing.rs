//! Entry points for fuzzing: what reads a stranger's text and is private otherwise.

/// Checks a scene, as it is done before MuJoCo reads it.
///
/// # Errors
/// What is wrong, for its author.
pub fn mjcf(text: &str) -> Result<(), String> {
    crate::load::mjcf::check_text(text)
}

/// Returns a `README.md` made fit to be shown.
#[must_use]
pub fn markdown(text: &str) -> String {
    crate::markdown::harmless(text)
}
