//! The fuzz targets of policy servers' answers.

use crate::remote::fuzzing::{http_answer as http, openpi_answer};

/// Maximum number of actions in an answer.
const MAX_HORIZON: usize = 1000;

/// Parses the input as a message of an openpi server.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn openpi(data: &[u8]) {
    check(openpi_answer(data));
}

/// Parses the input as an answer over HTTP: the status (its first two bytes) and the body.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn http_answer(data: &[u8]) {
    let Some((status, body)) = data.split_first_chunk() else { return };
    check(http(u16::from_be_bytes(*status), body));
}

fn check(actions: Option<usize>) {
    assert!(actions.is_none_or(|actions| (1..=MAX_HORIZON).contains(&actions)), "{actions:?} actions were accepted");
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn http_answer_accepts_its_corpus() {
        run_corpus("http_answer", super::http_answer);
    }

    #[test]
    fn openpi_accepts_its_corpus() {
        run_corpus("openpi", super::openpi);
    }
}
