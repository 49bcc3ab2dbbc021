//! Texts and CSS classes shared by all parts of the page.

use assay_model::{ClauseStatus, Level, sanitise};

/// Maximum length of a name, reason or note on the page, in bytes.
const MAX_TEXT_BYTES: usize = 4096;

/// Removes characters that could hide or forge text; the template escapes the result.
pub(super) fn clean(text: &str) -> String {
    sanitise(text, MAX_TEXT_BYTES)
}

/// Returns the CSS class for the status of a clause.
pub(super) fn tone_of(level: Level, status: ClauseStatus) -> &'static str {
    match (status, level) {
        (ClauseStatus::Satisfied, _) => "good",
        (ClauseStatus::Violated, Level::Critical) => "bad",
        _ => "open",
    }
}

/// Returns the name of the status.
pub(super) fn status_word(status: ClauseStatus) -> &'static str {
    match status {
        ClauseStatus::Satisfied => "satisfied",
        ClauseStatus::Violated => "violated",
        ClauseStatus::Undetermined => "undetermined",
        ClauseStatus::NotApplicable => "not applicable",
    }
}
