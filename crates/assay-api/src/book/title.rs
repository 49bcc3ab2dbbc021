//! The title of a page.

/// Returns the first heading of a Markdown text.
pub(super) fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}
