//! Texts and CSS classes that all parts of the page share.

use assay_model::{ClauseStatus, Level, sanitise};

/// Longest text that a report's name, reason or note may have on the page, in bytes.
const MAX_TEXT_BYTES: usize = 4096;

/// Cleans a text of what could hide or fake something; the template escapes it.
pub(super) fn clean(text: &str) -> String {
    sanitise(text, MAX_TEXT_BYTES)
}

/// The CSS class of a clause's status.
pub(super) fn tone_of(level: Level, status: ClauseStatus) -> &'static str {
    match (status, level) {
        (ClauseStatus::Satisfied, _) => "good",
        (ClauseStatus::Violated, Level::Critical) => "bad",
        _ => "open",
    }
}

/// The status in a word.
pub(super) fn status_word(status: ClauseStatus) -> &'static str {
    match status {
        ClauseStatus::Satisfied => "satisfied",
        ClauseStatus::Violated => "violated",
        ClauseStatus::Undetermined => "undetermined",
        ClauseStatus::NotApplicable => "not applicable",
    }
}
