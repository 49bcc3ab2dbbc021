//! TOML files of authors: errors in plain language, with the key and the line.

use std::ops::Range;

use assay_model::{plain_complaint, sanitise};
use serde::de::DeserializeOwned;

/// Maximum length of a key that is shown, in bytes.
const MAX_KEY_BYTES: usize = 100;
/// Editors of Windows write it before a text in UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Reads a document. The error is a message for its author, beginning with the line.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    toml::from_str(text).map_err(|error| explained(text, error.message(), error.span()))
}

fn explained(text: &str, message: &str, span: Option<Range<usize>>) -> String {
    let plain = plain_complaint(message);
    let Some(before) = span.and_then(|span| text.get(..span.start)) else { return plain };
    let line = before.matches('\n').count();
    // What does not even parse has no key.
    let is_syntax = plain == message && text.parse::<toml::Table>().is_err();
    let key = if is_syntax { None } else { key_at(text, line) };
    let place = match &key {
        Some(key) => format!("line {}, {key}", line + 1),
        None => format!("line {}", line + 1),
    };
    let remedy = match key {
        Some(key) if plain.ends_with("must be a list, not a table") => format!("; write [[{key}]]"),
        Some(key) if key.ends_with(".arrays") && plain.contains("a table of names and values") => {
            "; write an array as { name = \"tcp_position\", size = 3 }".to_owned()
        }
        _ => String::new(),
    };
    let verb = if plain.starts_with("must ") { " " } else { ": " };
    format!("{place}{verb}{plain}{remedy}")
}

/// Returns the key of the value in a line, or that of the table that begins there, with the tables that it is in.
fn key_at(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(line + 1).map(str::trim).collect();
    let header = |line: &&str| {
        let name = line.strip_prefix('[')?.trim_start_matches('[').split(']').next()?.trim();
        (!name.is_empty() && !name.contains([',', '"', '\''])).then(|| name.to_owned())
    };
    let table = lines.iter().rev().find_map(header);
    let last = *lines.last()?;
    // A value may begin in an earlier line.
    let assigned = |line: &&str| {
        let (key, _) = line.split_once('=')?;
        let key = key.trim();
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
        is_key.then(|| key.to_owned())
    };
    let key = if header(&last).is_some() {
        None
    } else {
        lines.iter().rev().take_while(|line| header(line).is_none()).find_map(assigned)
    };
    let whole = match (table, key) {
        (Some(table), Some(key)) => format!("{table}.{key}"),
        (table, key) => key.or(table)?,
    };
    Some(sanitise(&whole, MAX_KEY_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Document {
        #[expect(dead_code, reason = "only read")]
        adapter: Adapter,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Adapter {
        #[expect(dead_code, reason = "only read")]
        kind: String,
        #[expect(dead_code, reason = "only read")]
        inputs: Vec<Input>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        #[expect(dead_code, reason = "only read")]
        name: String,
        #[expect(dead_code, reason = "only read")]
        arrays: Option<Vec<NamedArray>>,
        #[expect(dead_code, reason = "only read")]
        mean: Option<Vec<f64>>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NamedArray {
        #[expect(dead_code, reason = "only read")]
        name: String,
    }

    #[test]
    fn errors_name_line_and_key_in_plain_language() {
        let begin = "[adapter]\nkind = \"onnx\"\n";
        let inputs = |rest: &str| format!("{begin}[[adapter.inputs]]\n{rest}\n");
        for (text, expected) in [
            (
                format!("{begin}[adapter.inputs]\nname = \"x\"\n"),
                "line 3, adapter.inputs must be a list, not a table; write [[adapter.inputs]]",
            ),
            (
                inputs("name = \"x\"\narrays = [\"tcp_position\"]"),
                "line 5, adapter.inputs.arrays must be a table of names and values, not the string \"tcp_position\"; write an \
                 array as { name = \"tcp_position\", size = 3 }",
            ),
            (inputs("name = 3"), "line 4, adapter.inputs.name must be a string, not 3"),
            (
                inputs("name = \"x\"\nmean = [\n1.0,\n\"two\",\n]"),
                "line 7, adapter.inputs.mean must be a number, not the string \"two\"",
            ),
            (
                inputs("name = \"x\"\nnames = 1"),
                "line 5, adapter.inputs.names: names is not known; use one of name, arrays, mean",
            ),
            (inputs("mean = [1.0]"), "line 3, adapter.inputs: name is missing"),
            (inputs("name = "), "line 4: "),
            ("[adapter]\nkind = onnx\n".to_owned(), "line 2: "),
            ("adapter = 1".to_owned(), "line 1, adapter must be a table of names and values, not 1"),
            ("[other]".to_owned(), "line 1, other: other is not known; use one of adapter"),
        ] {
            let found = read::<Document>(&text).err().unwrap_or_default();
            assert!(found.contains(expected), "{text}\n{found}");
            for word in ["expected struct", "invalid type", "field `", "variant", "expected a "] {
                assert!(!found.contains(word), "{text}\n{found}");
            }
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        let table = read::<toml::Table>("\u{feff}a = 1\n");
        assert_eq!(table.map(|table| table.len()), Ok(1));
    }
}
