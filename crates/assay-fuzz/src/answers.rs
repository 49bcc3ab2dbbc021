//! Answers of third-party servers.

/// Maximum length of a judge's explanation, in bytes.
const MAX_EXPLANATION_BYTES: usize = 1000;
/// Maximum number of actions in an answer.
const MAX_HORIZON: usize = 1000;

/// Parses the input as a message of an openpi server.
pub(crate) fn openpi(data: &[u8]) {
    check(assay_policy::fuzzing::openpi_answer(data));
}

/// Parses the input as an answer over HTTP: the status (its first two bytes) and the body.
pub(crate) fn http(data: &[u8]) {
    let Some((status, body)) = data.split_first_chunk() else { return };
    check(assay_policy::fuzzing::http_answer(u16::from_be_bytes(*status), body));
}

fn check(actions: Option<usize>) {
    assert!(actions.is_none_or(|actions| (1..=MAX_HORIZON).contains(&actions)), "{actions:?} actions were accepted");
}

/// Parses the input as an answer of the second judge's endpoint.
pub(crate) fn judge(data: &[u8]) {
    if let (Ok(opinion), _) = assay_judge::fuzzing::answer(data) {
        assert!((0.0..=1.0).contains(&opinion.confidence), "the confidence is {}", opinion.confidence);
        assert!(opinion.explanation.len() <= MAX_EXPLANATION_BYTES);
    }
}
