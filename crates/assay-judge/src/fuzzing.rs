//! The fuzz target of the endpoint's answers.

use crate::answer::read;

/// Maximum length of an explanation, in bytes.
const MAX_EXPLANATION_BYTES: usize = 1000;

/// Parses the input as an answer of the second judge's endpoint.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn judge(data: &[u8]) {
    if let (Ok(opinion), _) = read(data) {
        assert!((0.0..=1.0).contains(&opinion.confidence), "the confidence is {}", opinion.confidence);
        assert!(opinion.explanation.len() <= MAX_EXPLANATION_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn judge_accepts_its_corpus() {
        run_corpus("judge", super::judge);
    }
}
