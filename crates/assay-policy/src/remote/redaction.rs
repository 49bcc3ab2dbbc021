//! Redaction of the secrets sent to a server, the key and the address's query: a server may repeat them in its
//! messages, which appear in reports.

use assay_model::Secret;

use super::fault::ServerFault;
use super::server::PolicyServer;

/// Replacement for a secret.
const PLACEHOLDER: &str = "[secret]";
/// Minimum length of a query's value that is treated as a secret, in bytes.
const MIN_VALUE_BYTES: usize = 6;
/// Minimum length of a part of a secret that is redacted at the edge of a truncated text, in bytes.
const MIN_PIECE_BYTES: usize = 4;

/// Secrets to redact from texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redaction(Vec<Secret>);

impl Redaction {
    pub(crate) fn of(server: &PolicyServer) -> Self {
        let query = server.endpoint.query().unwrap_or_default();
        // Not a secret: the author needs to read a server's answer about `unnorm_key`.
        let values = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != "unnorm_key");
        let values = values.map(|(_, value)| value.into_owned()).filter(|value| value.len() >= MIN_VALUE_BYTES);
        let key = server.api_key.as_ref().map(|key| key.reveal().to_owned()).filter(|key| !key.is_empty());
        let mut all: Vec<String> = key.into_iter().chain(values).collect();
        // Longest first, because one may be part of another.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(all.into_iter().map(Secret::new).collect())
    }

    /// Returns `text` without them.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| redact(&text, secret.reveal()))
    }

    pub(crate) fn redact_fault(&self, fault: ServerFault) -> ServerFault {
        ServerFault { kind: fault.kind, message: self.redact(&fault.message), detail: self.redact(&fault.detail) }
    }
}

fn redact(text: &str, secret: &str) -> String {
    let text = text.replace(secret, PLACEHOLDER);
    let ends = secret.char_indices().map(|(at, _)| at).filter(|at| *at >= MIN_PIECE_BYTES);
    let bare = text.trim_end_matches('…');
    if let Some(piece) = ends.rev().map(|at| &secret[..at]).find(|piece| bare.ends_with(piece)) {
        return format!("{}{PLACEHOLDER}", &bare[..bare.len() - piece.len()]);
    }
    let starts = secret.char_indices().map(|(at, _)| at).filter(|at| secret.len() - at >= MIN_PIECE_BYTES);
    match starts.map(|at| &secret[at..]).find(|piece| text.starts_with(piece)) {
        Some(piece) => format!("{PLACEHOLDER}{}", &text[piece.len()..]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::Redaction;
    use crate::remote::{PolicyServer, ServerEndpoint};
    use assay_model::Secret;

    #[test]
    fn secrets_are_redacted_even_if_truncated() {
        let endpoint = ServerEndpoint::parse("http://a.test/?token=t-123456&unnorm_key=bridge_orig&v=2").unwrap();
        let server = PolicyServer { endpoint, api_key: Some(Secret::new("k-abcdef")), replan_steps: None };
        let redaction = Redaction::of(&server);
        for (text, expected) in [
            ("no k-abcdef, no t-123456, v=2", "no [secret], no [secret], v=2"),
            ("no bridge_orig", "no bridge_orig"),
            ("cut in k-abcd…", "cut in [secret]"),
            ("cdef is the rest", "[secret] is the rest"),
            ("def is too short", "def is too short"),
            ("k-abcdefk-abcdef", "[secret][secret]"),
        ] {
            assert_eq!(redaction.redact(text), expected);
        }
        assert_eq!(Redaction::default().redact("k-abcdef"), "k-abcdef");
    }
}
