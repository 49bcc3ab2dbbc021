//! Numbers that JSON has no word for: Python and JavaScript write `NaN` and `Infinity`, and numbers such as `1e999` are
//! beyond every float.

/// Returns a text with these words as JSON strings, so that the element can be named; `None` if there is none.
pub(super) fn quoted_words(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut at, mut found) = (0, false);
    while at < text.len() {
        let rest = &text[at..];
        let length = match rest[0] {
            b'"' => string_bytes(rest),
            b'-' | b'+' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => word_bytes(rest),
            _ => 1,
        };
        let (word, _) = rest.split_at(length);
        match not_finite(word) {
            Some(name) => {
                found = true;
                out.extend_from_slice(format!("\"{name}\"").as_bytes());
            }
            None => out.extend_from_slice(word),
        }
        at += length;
    }
    found.then_some(out)
}

/// Returns the length of the string at the beginning of `text`, quotes included.
fn string_bytes(text: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn word_bytes(text: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'_');
    text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len())
}

fn not_finite(word: &[u8]) -> Option<&'static str> {
    let is_number = word.last().is_some_and(u8::is_ascii_digit);
    match word {
        b"NaN" | b"-NaN" | b"nan" => Some("NaN"),
        b"Infinity" | b"+Infinity" | b"inf" | b"Inf" => Some("Infinity"),
        b"-Infinity" | b"-inf" | b"-Inf" => Some("-Infinity"),
        _ if !is_number => None,
        number => match std::str::from_utf8(number).ok()?.parse::<f64>() {
            Ok(f64::INFINITY) => Some("Infinity"),
            Ok(f64::NEG_INFINITY) => Some("-Infinity"),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::quoted_words;

    fn quoted(text: &str) -> Option<String> {
        quoted_words(text.as_bytes()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn words_outside_of_strings_are_quoted() {
        for (text, expected) in [
            (r#"{"a": [0,NaN,-Infinity]}"#, Some(r#"{"a": [0,"NaN","-Infinity"]}"#)),
            ("[1e999, -1e999, 1e300]", Some(r#"["Infinity", "-Infinity", 1e300]"#)),
            ("Infinity", Some(r#""Infinity""#)),
            (r#"{"NaN \" NaN": nan}"#, Some(r#"{"NaN \" NaN": "NaN"}"#)),
            (r#"{"NaN": "Infinity", "x": [1, true, null]}"#, None),
            (r#"["NaN"#, None),
            ("<html>", None),
            ("", None),
        ] {
            assert_eq!(quoted(text).as_deref(), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            drop(quoted_words(&bytes));
        }
    }
}
