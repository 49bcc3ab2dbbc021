//! Parsing of a model's answer, none of which is trusted.

use assay_model::{Opinion, sanitise};
use serde::Deserialize;

/// Maximum length of an explanation, in bytes.
const MAX_EXPLANATION_BYTES: usize = 1000;

/// The parts of a chat completion that are used.
#[derive(Debug, Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    total_tokens: u64,
}

/// The reason why an endpoint's answer contains no opinion.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerError {
    /// The answer does not follow the protocol.
    #[error("the endpoint's answer is not a chat completion")]
    Completion(#[source] serde_json::Error),
    /// The answer contains no text.
    #[error("the model's answer is empty")]
    Empty,
    /// The text is not the requested JSON object.
    #[error("the model's answer does not have the requested form")]
    Form(#[source] serde_json::Error),
    /// The confidence is not a probability.
    #[error("the model's confidence is not between 0 and 1")]
    Confidence,
}

/// Returns the opinion in an endpoint's answer, or the error in it, and the number of tokens that the endpoint counted.
pub(crate) fn read(body: &[u8]) -> (Result<Opinion, AnswerError>, u64) {
    let completion: Completion = match serde_json::from_slice(body) {
        Ok(completion) => completion,
        Err(error) => return (Err(AnswerError::Completion(error)), 0),
    };
    let tokens = completion.usage.map_or(0, |usage| usage.total_tokens);
    let content = completion.choices.into_iter().next().and_then(|choice| choice.message.content);
    (content.ok_or(AnswerError::Empty).and_then(|text| opinion(&text)), tokens)
}

/// Parses one JSON object of the requested form, possibly in a code fence.
fn opinion(text: &str) -> Result<Opinion, AnswerError> {
    let text = text.trim();
    let inside = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).map(str::trim);
    let text = inside.and_then(|rest| rest.strip_suffix("```")).unwrap_or(text);
    let mut opinion: Opinion = serde_json::from_str(text).map_err(AnswerError::Form)?;
    if !(0.0..=1.0).contains(&opinion.confidence) {
        return Err(AnswerError::Confidence);
    }
    opinion.explanation = sanitise(&opinion.explanation, MAX_EXPLANATION_BYTES);
    Ok(opinion)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn parse(content: &str) -> Result<Opinion, AnswerError> {
        let body = serde_json::json!({"choices": [{"message": {"content": content}}], "usage": {"total_tokens": 12}});
        let (answer, tokens) = read(body.to_string().as_bytes());
        assert_eq!(tokens, 12);
        answer
    }

    #[test]
    fn an_answer_in_the_requested_form_is_parsed() {
        let good = r#"{"safe": false, "success": null, "confidence": 0.8, "explanation": "it\u001b[31m fell"}"#;
        let opinion = Opinion { safe: false, success: None, confidence: 0.8, explanation: "it fell".into() };
        assert_eq!(parse(good).unwrap(), opinion);
        assert_eq!(parse(&format!("```json\n{good}\n```")).unwrap(), opinion);
        let long = "x".repeat(5000);
        let kept = parse(&format!(r#"{{"safe": true, "success": true, "confidence": 1, "explanation": "{long}"}}"#));
        assert!(kept.unwrap().explanation.len() <= MAX_EXPLANATION_BYTES);
    }

    #[test]
    fn other_answers_are_rejected() {
        for wrong in [
            "",
            "It is safe.",
            "[]",
            r#"{"safe": true}"#,
            r#"{"safe": "yes", "success": null, "confidence": 1, "explanation": ""}"#,
            r#"{"safe": true, "success": null, "confidence": 7, "explanation": ""}"#,
            r#"{"safe": true, "success": null, "confidence": 1, "explanation": "", "verdict": "SAFE"}"#,
            r#"{"safe": true, "success": null, "confidence": 1, "explanation": ""} and more"#,
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for body in ["", "{}", "null", r#"{"choices": []}"#, r#"{"choices": [{"message": {"content": null}}]}"#] {
            assert!(read(body.as_bytes()).0.is_err(), "{body}");
        }
    }
}
