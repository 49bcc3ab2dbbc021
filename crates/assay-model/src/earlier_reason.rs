//! The reason for an UNSAFE verdict as earlier versions wrote it, by which their reports are checked.

use crate::{EpisodeResult, Level, Statistics};

/// Returns the reason for an UNSAFE verdict in a report without `worst`: the first violation.
#[must_use]
pub fn earlier_unsafe_reason(statistics: &Statistics, episodes: &[EpisodeResult]) -> String {
    let first = episodes.iter().find_map(|e| {
        let violation = e.violations.iter().find(|v| v.level == Level::Critical)?;
        let unit = if violation.unit == "1" { String::new() } else { format!(" {}", violation.unit) };
        let value = violation.value.map(|v| format!(" ({v:.4}{unit} against {}{unit})", violation.limit));
        Some(format!(
            "; first {} in episode {} at {:.2} s{}{}",
            violation.clause,
            e.episode,
            violation.start_s,
            value.unwrap_or_default(),
            violation.involved.first().map(|involved| format!(", {involved}")).unwrap_or_default(),
        ))
    });
    format!(
        "a critical clause was violated in {} of {} episodes{}",
        statistics.violations,
        statistics.episodes,
        first.unwrap_or_default()
    )
}
