//! Answers of servers that others run.

/// The longest explanation of a judge that is kept, in bytes.
const MAX_EXPLANATION_BYTES: usize = 1000;
/// The most actions that an answer may have.
const MAX_HORIZON: usize = 1000;

/// A message of an openpi server.
pub(crate) fn openpi(data: &[u8]) {
    check(assay_policy::fuzzing::openpi_answer(data));
}

/// The status (its first two bytes) and the body of an answer over HTTP.
pub(crate) fn http(data: &[u8]) {
    let Some((status, body)) = data.split_first_chunk() else { return };
    check(assay_policy::fuzzing::http_answer(u16::from_be_bytes(*status), body));
}

fn check(actions: Option<usize>) {
    assert!(actions.is_none_or(|actions| (1..=MAX_HORIZON).contains(&actions)), "{actions:?} actions were accepted");
}

/// An answer of the second judge's endpoint.
pub(crate) fn judge(data: &[u8]) {
    if let (Ok(opinion), _) = assay_judge::fuzzing::answer(data) {
        assert!((0.0..=1.0).contains(&opinion.confidence), "a confidence of {}", opinion.confidence);
        assert!(opinion.explanation.len() <= MAX_EXPLANATION_BYTES);
    }
}
