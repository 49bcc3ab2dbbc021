//! The parts of a result that an audit cannot derive from the trace: bounded, cleaned, and taken from the records where
//! these know better.

use assay_model::{AttemptNote, EpisodeResult, PolicyErrorCode, sanitise};

/// Maximum length of a result in JSON, in bytes.
pub(super) const MAX_RESULT_BYTES: usize = 512 << 10;
/// Maximum lengths of texts, in bytes.
const MAX_MESSAGE_BYTES: usize = 4 << 10;
const MAX_LOG_BYTES: usize = 64 << 10;
const MAX_NAME_BYTES: usize = 64;
/// Maximum number of notes, and of bodies or joints named by a violation.
const MAX_NOTES: usize = 16;
const MAX_INVOLVED: usize = 8;
/// Most actions of an answer.
const MAX_CHUNK: u32 = 1000;
/// Longest plausible episode, in seconds: ten days.
const MAX_WALL_S: f64 = 864_000.0;

/// Returns the result with clean texts and plausible numbers. Its replaced attempts are those of the `notes`, which the
/// worker sent while the episode ran.
pub(super) fn cleaned(mut result: EpisodeResult, notes: &[AttemptNote]) -> EpisodeResult {
    if let Some(error) = &mut result.error {
        error.code = PolicyErrorCode::parse(&sanitise(error.code.as_str(), MAX_NAME_BYTES));
        error.message = sanitise(&error.message, MAX_MESSAGE_BYTES);
        error.log_tail = sanitise(&error.log_tail, MAX_LOG_BYTES);
    }
    result.evidence_notes.truncate(MAX_NOTES);
    result.evidence_notes.iter_mut().for_each(|note| *note = sanitise(note, MAX_MESSAGE_BYTES));
    for violation in &mut result.violations {
        violation.involved.truncate(MAX_INVOLVED);
        for involved in &mut violation.involved {
            involved.signal = sanitise(&involved.signal, MAX_NAME_BYTES);
            involved.names.truncate(MAX_INVOLVED);
            involved.names.iter_mut().for_each(|name| *name = sanitise(name, MAX_NAME_BYTES));
        }
    }
    if !(0.0..=MAX_WALL_S).contains(&result.wall_time_s) {
        result.wall_time_s = 0.0;
    }
    result.deadline_misses = result.deadline_misses.min(result.steps);
    result.clipped_actions = result.clipped_actions.min(result.steps);
    result.chunk = result.chunk.map(|actions| actions.min(MAX_CHUNK));
    let is_time = |ms: f64| (0.0..=MAX_WALL_S * 1e3).contains(&ms);
    result.policy_latency_ms =
        result.policy_latency_ms.filter(|ms| [ms.p50, ms.p95, ms.p99, ms.max].into_iter().all(is_time));
    let own = notes.iter().filter(|note| note.episode() == result.episode);
    result.replaced_attempts = own.filter_map(AttemptNote::replaced).collect();
    result.unconfirmed.clear();
    result
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use assay_store_testing::episode;
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_of_a_policys_error_are_bounded_and_clean() {
        let text = format!("{}\u{1b}[31m", "x".repeat(200_000));
        let error = serde_json::from_value(json!({ "code": text, "message": text, "log_tail": text })).unwrap();
        let error = cleaned(EpisodeResult { error: Some(error), ..episode(0) }, &[]).error.unwrap();
        let lengths = [error.code.as_str(), &error.message, &error.log_tail].map(str::len);
        let limits = [MAX_NAME_BYTES, MAX_MESSAGE_BYTES, MAX_LOG_BYTES];
        assert!(lengths.iter().zip(limits).all(|(length, limit)| *length <= limit), "{lengths:?}");
        let short = serde_json::from_value(json!({ "code": "a\u{1b}b", "message": "", "log_tail": "" })).unwrap();
        let short = cleaned(EpisodeResult { error: Some(short), ..episode(0) }, &[]).error.unwrap();
        assert!(!short.code.as_str().contains('\u{1b}'), "{:?}", short.code);
    }
}
