//! The one place that prints text for people. Whatever a policy, a scenario, a report or a server wrote may be in it:
//! it gets neither control over a terminal nor a command of a CI system out of this place.
//!
//! A character that is not seen, or that acts on the terminal, is printed as the escape that JSON has for it, so that
//! JSON keeps its meaning.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_model::{Clock, SystemClock, is_hidden};

use crate::screen;

/// First characters of a line that a CI system takes for a command: GitHub.
const LINE_COMMANDS: [&str; 1] = ["::"];
/// Mark before a line that is not ours.
const MARK: &str = "| ";
/// First characters of a command anywhere in a line: GitHub, Azure Pipelines, TeamCity. A word and a bracket follow.
const COMMAND: &str = "##";

/// Name of the program before a message.
const PROGRAM: &str = "assay: ";
/// Words before a warning.
const WARNINGS: [&str; 2] = ["warning: ", "WARNING: "];

/// Prints text on standard output, with a final newline. A closed pipe (`| head`) is not an error.
pub(crate) fn print(text: &str) {
    let (_, colour) = screen::width_and_colour();
    write(&mut std::io::stdout().lock(), &harmless(text, colour));
}

/// True once the log on standard error is JSON: then everything there is.
static LOGS_JSON: AtomicBool = AtomicBool::new(false);

/// Turns the lines of [`print_error`] into JSON, for a log of that format.
pub(crate) fn log_json() {
    LOGS_JSON.store(true, Ordering::Relaxed);
}

/// Prints text on standard error, with a final newline.
pub(crate) fn print_error(text: &str) {
    print_message(text, "INFO");
}

/// Prints the reason why the program ends on standard error.
pub(crate) fn print_failure(text: &str) {
    print_message(text, "ERROR");
}

fn print_message(text: &str, level: &str) {
    let text = if LOGS_JSON.load(Ordering::Relaxed) { log_line(text, level) } else { text.to_owned() };
    write(&mut std::io::stderr().lock(), &harmless(&text, false));
}

/// Returns a line of a JSON log with the fields of the others, at this level unless it is a warning.
fn log_line(text: &str, level: &str) -> String {
    let text = text.strip_prefix(PROGRAM).unwrap_or(text);
    let warning = WARNINGS.iter().find_map(|word| text.strip_prefix(word));
    let level = if warning.is_some() { "WARN" } else { level };
    let message = warning.unwrap_or(text).trim_end();
    serde_json::json!({ "timestamp": SystemClock.now(), "level": level, "message": message, "target": "assay" })
        .to_string()
}

/// Prints a line on standard error: formats like `eprintln!`.
macro_rules! complain {
    ($($text:tt)*) => { $crate::printing::print_error(&format!($($text)*)) };
}
pub(crate) use complain;

fn write(to: &mut dyn Write, text: &str) {
    let _ = to.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = to.write_all(b"\n");
    }
}

/// Returns text that acts on nothing; with `colour`, sequences that set colours are kept.
pub(crate) fn harmless(text: &str, colour: bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        if LINE_COMMANDS.iter().any(|command| start.starts_with(command)) {
            safe.push_str(MARK);
        }
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let taken = match colour_sequence(rest) {
                Some(sequence) if colour => {
                    safe.push_str(sequence);
                    sequence.len()
                }
                _ if is_command(rest) => {
                    safe.push_str("#\\u0023");
                    COMMAND.len()
                }
                _ => {
                    push(&mut safe, c);
                    c.len_utf8()
                }
            };
            rest = &rest[taken..];
        }
    }
    safe
}

fn push(safe: &mut String, c: char) {
    if c == '\n' || c == '\t' || !(c.is_control() || is_hidden(c)) {
        safe.push(c);
        return;
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(safe, "\\u{unit:04x}");
    }
}

/// Returns the sequence that sets a colour at the beginning of the text.
fn colour_sequence(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
    parameters[end..].starts_with('m').then(|| &text[..text.len() - parameters.len() + end + 1])
}

fn is_command(text: &str) -> bool {
    let Some(word) = text.strip_prefix(COMMAND) else { return false };
    word.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).starts_with('[')
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Texts of strangers. The first ones were seen in terminals and logs.
    const HOSTILE: [&str; 20] = [
        "::error::it failed",
        "  ::add-mask::SAFE",
        "ok\n::stop-commands::x",
        "version \u{1b}]0;title\u{7}",
        "a\u{61c}b",
        "a\u{200b}b",
        "a\u{2060}b\u{2064}",
        "unit \u{1b}[31m",
        "a\u{202e}b",
        "\t::set-output name=x::y",
        "text ##[error]x",
        "##vso[task.setvariable variable=x]y",
        "##teamcity[buildStatus text='x']",
        "a\rSAFE",
        "a\u{9b}31m",
        "a\u{85}::error::x",
        "a\u{2028}::error::x",
        "a\u{8}\u{8}b",
        "\u{1b}[2J\u{1b}[H\u{1b}(0",
        "a\u{e0041}\u{180e}\u{feff}b",
    ];

    #[test]
    fn text_of_a_stranger_neither_commands_a_terminal_nor_a_ci_system() {
        for text in HOSTILE {
            let safe = harmless(text, false);
            assert!(safe.chars().all(|c| c == '\n' || c == '\t' || !(c.is_control() || is_hidden(c))), "{safe:?}");
            for line in safe.lines() {
                assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{safe:?}");
                assert!(!line.contains("##vso[") && !line.contains("##teamcity["), "{safe:?}");
            }
        }
    }

    #[test]
    fn a_message_in_a_json_log_is_one_line_of_json() {
        for (text, level, message) in [
            ("assay: listening on http://127.0.0.1:1", "INFO", "listening on http://127.0.0.1:1"),
            ("assay: warning: it\n  is late", "WARN", "it\n  is late"),
            ("assay: WARNING: weaker", "WARN", "weaker"),
            ("the settings are invalid:\n  \"a\"", "ERROR", "the settings are invalid:\n  \"a\""),
        ] {
            let line = log_line(text, if level == "ERROR" { level } else { "INFO" });
            let found: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert!(!line.contains('\n') && found["timestamp"].is_string(), "{line}");
            assert_eq!((&found["level"], &found["message"]), (&level.into(), &message.into()));
        }
    }

    #[test]
    fn json_keeps_its_meaning_and_plain_text_its_look() {
        for text in HOSTILE {
            let value = serde_json::json!({ "text": text });
            let printed = harmless(&serde_json::to_string_pretty(&value).unwrap(), false);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), value, "{printed}");
        }
        for plain in
            ["║  SAFE  ║\n", "## Heading\n- a [link](x) std::fs::read", "é 日本 👩‍🚀 \u{a0}x", "## a [b]", "C#[1]"]
        {
            assert_eq!(harmless(plain, false), plain);
        }
    }

    #[test]
    fn only_colours_are_kept_and_only_with_colours() {
        let text = "\u{1b}[1;31mUNSAFE\u{1b}[0m\u{1b}[2J\u{1b}[m";
        assert_eq!(harmless(text, true), "\u{1b}[1;31mUNSAFE\u{1b}[0m\\u001b[2J\u{1b}[m");
        assert_eq!(harmless(text, false), "\\u001b[1;31mUNSAFE\\u001b[0m\\u001b[2J\\u001b[m");
    }
}
